// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeysPublic;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * A YARN of two nodes over an HDFS of one, on this machine, in the working directory. Writes the configuration of clients
 * into the folder conf there, prints the address of the file system, and lives until its standard input ends, so that it
 * cannot outlive whoever started it.
 */
public final class MiniYarn {
  private static final int NODES = 2;

  private MiniYarn() {}

  public static void main(String[] arguments) {
    try {
      serve(configuration());
      System.exit(0);
    } catch (Exception failure) {
      failure.printStackTrace();
      System.exit(1);  // threads of what has started already would go on
    }
  }

  private static void serve(Configuration configuration) throws Exception {
    try (MiniDFSCluster files = new MiniDFSCluster.Builder(configuration).numDataNodes(1).build();
        MiniYARNCluster nodes = new MiniYARNCluster("thalweg", NODES, 1, 1)) {
      files.waitActive();
      String address = "hdfs://localhost:" + files.getNameNodePort();
      configuration.set(CommonConfigurationKeysPublic.FS_DEFAULT_NAME_KEY, address);
      nodes.init(configuration);
      nodes.start();
      if (!nodes.waitForNodeManagersToConnect(120_000)) {
        throw new IOException("the nodes of YARN do not come");
      }
      write(nodes.getConfig());
      System.out.println(address);
      System.out.flush();
      while (System.in.read() >= 0) {
        // Nothing is asked of it.
      }
    }
  }

  private static Configuration configuration() {
    Configuration configuration = new YarnConfiguration();
    configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, Path.of("hdfs").toAbsolutePath().toString());
    configuration.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 128);
    // A disk that others have filled up is no reason to stop.
    configuration.setFloat(YarnConfiguration.NM_MAX_PER_DISK_UTILIZATION_PERCENTAGE, 100f);
    configuration.setLong(YarnConfiguration.NM_MIN_PER_DISK_FREE_SPACE_MB, 0);
    configuration.set("yarn.scheduler.capacity.root.queues", "default");
    configuration.set("yarn.scheduler.capacity.root.default.capacity", "100");
    // The application master counts against a share of the queue, which is small here.
    configuration.setFloat("yarn.scheduler.capacity.maximum-am-resource-percent", 1f);
    return configuration;
  }

  /** All in one file: Hadoop's clients read each of the usual names. */
  private static void write(Configuration configuration) throws IOException {
    // A mini-cluster has a class of its own for that, which clients do not have.
    configuration.unset(CommonConfigurationKeysPublic.NET_TOPOLOGY_NODE_SWITCH_MAPPING_IMPL_KEY);
    Path folder = Files.createDirectories(Path.of("conf"));
    for (String name : new String[] {"core-site.xml", "yarn-site.xml"}) {
      try (OutputStream stream = Files.newOutputStream(folder.resolve(name))) {
        configuration.writeXml(stream);
      }
    }
  }
}
