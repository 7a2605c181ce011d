import type { SimulatedDriver } from "../../../kubelet/runtime/simulated/csi/simulated-driver.ts"

/** A fault that lasts until `end` is called, or the block of its `await using` is left. */
export interface Fault extends AsyncDisposable {
  end(): Promise<void>
}

/** Where a fault of a CSI driver is, on one node or on all, and its message. */
export interface DriverFaultOptions {
  readonly node?: string
  readonly message?: string
}

/** The faults of simulated CSI drivers. */
export abstract class StorageFaults {
  /** @internal Returns a driver. @throws TestClusterError for an unknown driver or node */
  protected abstract driver(name: string, node: string | undefined): SimulatedDriver
  /** @internal */
  protected abstract begin(words: string, begin: () => unknown, end: () => unknown): Promise<Fault>

  /**
   * The driver cannot attach volumes. Their pods get the event FailedAttachVolume, and the driver tries again after a
   * second, and then after twice as long each time, up to five minutes.
   */
  async attachFails(
    driver: string,
    { node, message = "the disk is not available" }: DriverFaultOptions = {},
  ): Promise<Fault> {
    const found = this.driver(driver, node)
    return this.#begun(`${driver} attaches no volume${place(node)}`, () => found.failAttaching(node, message))
  }

  /** Nodes cannot mount volumes of the driver. Their pods get the event FailedMount. */
  async mountFails(driver: string, { node, message = "the disk is damaged" }: DriverFaultOptions = {}): Promise<Fault> {
    const found = this.driver(driver, node)
    return this.#begun(`${driver} mounts no volume${place(node)}`, () => found.failMounting(node, message))
  }

  /** Mounts of the driver's volumes do not end. After two minutes the kubelet gives up, and tries again. */
  async mountHangs(driver: string, { node }: Pick<DriverFaultOptions, "node"> = {}): Promise<Fault> {
    const found = this.driver(driver, node)
    return this.#begun(`mounts of ${driver} hang${place(node)}`, () => found.hangMounting(node))
  }

  #begun(words: string, start: () => () => void): Promise<Fault> {
    let end: (() => void) | undefined
    return this.begin(
      words,
      () => (end = start()),
      () => end?.(),
    )
  }
}

const place = (node: string | undefined): string => (node === undefined ? "" : ` on node ${node}`)
