import { ConfigMap } from "../../../../pkg/api/core/v1/configmap.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { realClock } from "../../../../pkg/clock/real.ts"
import { EtcdLog } from "../../../../pkg/storage/replicated/etcd/etcd-log.ts"
import type { SharedChange } from "../../../../pkg/storage/replicated/shared-log.ts"
import type { Change } from "../list-watch.ts"
import { NAMESPACE } from "../recording-client.ts"

const PREFIX = `${ConfigMap.prefix}${NAMESPACE}/`
const RETRY_MS = 200
/** The longest wait for the watch, in milliseconds. */
const UP_TO_DATE_MS = 30_000

/** Follows the log in etcd, through whichever members can be reached, and keeps every change of the objects. */
export class ChangeRecorder {
  readonly changes: Change[] = []
  readonly problems: string[] = []
  readonly #log: EtcdLog
  readonly #present = new Map<string, KubeObject>()
  #seen = 0
  #closed = false

  constructor(endpoints: readonly string[]) {
    this.#log = new EtcdLog({ endpoints, clock: realClock })
    this.#follow()
  }

  /** Resolves when every change up to now has been recorded. @throws Error when that takes too long */
  async upToDate(): Promise<void> {
    const until = performance.now() + UP_TO_DATE_MS
    while (this.#seen < (await this.#log.latest())) {
      if (performance.now() > until) throw new Error(`The watch of the log has not come to its end: ${this.#seen}`)
      await Bun.sleep(200)
    }
  }

  close(): void {
    this.#closed = true
    this.#log.close()
  }

  #follow(): void {
    if (this.#closed) return
    this.#log.watch(this.#seen, {
      advanced: (changes, revision) => {
        for (const change of changes) if (change.key.startsWith(PREFIX)) this.#record(change)
        this.#seen = revision
      },
      ended: (reason) => {
        if (reason.code === "compacted") this.problems.push("the hunt itself has missed changes: they were compacted")
        else setTimeout(() => this.#follow(), RETRY_MS)
      },
    })
  }

  #record({ key, revision, value }: SharedChange): void {
    const before = this.#present.get(key)
    if (value === undefined) {
      this.#present.delete(key)
      if (before !== undefined) this.changes.push({ type: "delete", revision, object: before })
      return
    }
    const object = JSON.parse(Buffer.from(value).toString()) as KubeObject
    this.#present.set(key, object)
    this.changes.push({ type: before === undefined ? "create" : "update", revision, object })
  }
}
