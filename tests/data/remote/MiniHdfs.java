// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * An HDFS of one name node and two data nodes on this machine, in a directory of its own (the argument). Prints its address
 * and lives until its standard input ends, so that it cannot outlive whoever started it.
 */
public final class MiniHdfs {
  private MiniHdfs() {}

  public static void main(String[] arguments) throws Exception {
    Configuration configuration = new Configuration();
    configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
    // Blocks of 1 MB, so that a small file spans several.
    configuration.setLong("dfs.blocksize", 1 << 20);
    configuration.setLong("dfs.namenode.fs-limits.min-block-size", 1 << 20);
    try (MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(2).build()) {
      cluster.waitActive();
      System.out.println("hdfs://localhost:" + cluster.getNameNodePort());
      System.out.flush();
      while (System.in.read() >= 0) {
        // Nothing is asked of it.
      }
    }
    System.exit(0);
  }
}
