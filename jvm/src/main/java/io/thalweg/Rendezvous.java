// Copyright The Thalweg Authors. SPDX-License-Identifier: Apache-2.0
package io.thalweg;

import io.thalweg.jni.NativeTraining;

/** Where the workers of one training meet. Used by one thread. */
public final class Rendezvous implements AutoCloseable {
  private final String secret = NativeTraining.makeSecret();
  private final String host;
  private long handle;

  /**
   * @param host by which workers reach this machine; the rendezvous itself listens at every address
   * @param formSeconds how long a worker may be missing once the first has come; 0: the engine's default
   * @param tls whether workers must encrypt what goes over the network (group.tls in their settings)
   */
  public Rendezvous(String host, int workers, double formSeconds, boolean tls) {
    this.host = host;
    handle = NativeTraining.startRendezvous(":0", secret, workers, formSeconds, tls);
  }

  public String address() {
    String listening = NativeTraining.rendezvousAddress(open());
    return host + listening.substring(listening.lastIndexOf(':'));
  }

  /** What workers must know to be let in. */
  public String secret() {
    return secret;
  }

  /** JSON, as tw_rendezvous_state describes it. */
  public String state() {
    return NativeTraining.rendezvousState(open());
  }

  /** The trained model is here: workers need not keep it any longer. */
  public void acceptModel() {
    NativeTraining.acceptModel(open());
  }

  @Override
  public void close() {
    long old = handle;
    handle = 0;
    NativeTraining.freeRendezvous(old);
  }

  private long open() {
    if (handle == 0) {
      throw new ThalwegException("the rendezvous is closed");
    }
    return handle;
  }
}
