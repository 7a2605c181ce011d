import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import type { StorageEvent } from "../../../../pkg/storage/storage.ts"
import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import { firstDifference, type ObjectRuns, type ReplayDifference } from "./difference.ts"
import { leavesOf } from "./leaves.ts"
import type { LoadedReplay } from "./loaded-replay.ts"
import { Timeline } from "./timeline.ts"

/** What each cluster makes for itself, or does not record. */
const NOT_COMPARED = [
  "/registry/core/events/",
  "/registry/events.k8s.io/events/",
  "/registry/coordination.k8s.io/leases/",
  "/registry/certificates.k8s.io/certificatesigningrequests/",
  "/registry/apiregistration.k8s.io/apiservices/",
]
/** The certificate of the API server, in every namespace. */
const CA = /^\/registry\/core\/configmaps\/[^/]+\/kube-root-ca\.crt$/

const isCompared = (key: string): boolean => !CA.test(key) && NOT_COMPARED.every((prefix) => !key.startsWith(prefix))

/** Says who writes: the kubelets and the API server have their own ways in each run. */
const OWN_WAYS = /^system:(?:node:|apiserver$|controller:)/

/** Compares what happens in a replay with its recording. */
export class Comparison {
  readonly #loaded: LoadedReplay
  readonly #objects = new Map<string, ObjectRuns>()
  /** The revisions of writes that were played, so that they are in both. */
  readonly #played = new Set<number>()
  /** The pods of addresses, in both runs. */
  readonly #recordedIps = new Map<string, string>()
  readonly #replayedIps = new Map<string, string>()

  constructor(loaded: LoadedReplay) {
    this.#loaded = loaded
    for (const [key, object] of loaded.objects) this.#noteIps(this.#recordedIps, key, object)
    for (const { key, object } of loaded.writes) this.#noteIps(this.#recordedIps, key, object)
    for (const { key, time, revision, user, clients, author, verb, object } of loaded.writes)
      if (this.#isCompared(key))
        this.#of(key).recording.add({
          time,
          revision,
          user: user === "" ? clients.join(", ") : user,
          isCompared: author === "controlled",
          object: verb === "delete" ? undefined : object,
        })
  }

  /** Notes that a revision of the replay is a recorded write. */
  played(revision: number): void {
    this.#played.add(revision)
  }

  /** Takes what was written in the replay. */
  take(events: readonly StorageEvent[]): void {
    for (const { key, time, revision, author, type, stored } of events) {
      this.#noteIps(this.#replayedIps, key, stored.object)
      if (!this.#isCompared(key)) continue
      this.#of(key).replay.add({
        time,
        revision,
        user: author,
        isCompared: !OWN_WAYS.test(author),
        object: type === "delete" ? undefined : stored.object,
      })
    }
  }

  /** Returns the first difference until now, in milliseconds since the epoch. */
  first(now: number): ReplayDifference | undefined {
    const { toleranceMs } = this.#loaded
    return firstDifference(this.#withoutPlayed(), { toleranceMs, now })
  }

  *#withoutPlayed(): Generator<ObjectRuns> {
    for (const { recording, replay } of this.#objects.values()) {
      // A write is known to be played only after it is in the store.
      replay.states.forEach((state, i) => {
        if (state.isCompared && this.#played.has(state.revision)) replay.states[i] = { ...state, isCompared: false }
      })
      yield { recording, replay }
    }
  }

  #isCompared(key: string): boolean {
    return isCompared(key) && this.#loaded.isRecorded(key)
  }

  #of(key: string): ObjectRuns {
    let runs = this.#objects.get(key)
    if (runs === undefined) {
      const { begin, objects, isAnonymous } = this.#loaded
      const object = objects.get(key)
      runs = {
        recording: new Timeline((each) => leavesOf(each, wordsOf(this.#recordedIps), isAnonymous), begin, object),
        replay: new Timeline((each) => leavesOf(each, wordsOf(this.#replayedIps), isAnonymous), begin, object),
      }
      this.#objects.set(key, runs)
    }
    return runs
  }

  #noteIps(ips: Map<string, string>, key: string, object: KubeObject): void {
    if (!key.startsWith("/registry/core/pods/")) return
    for (const { ip } of (object as Partial<Pod>).status?.podIPs ?? [])
      if (typeof ip === "string") ips.set(ip, `the address of ${object.metadata.namespace}/${object.metadata.name}`)
  }
}

/** The address within a text. */
const ADDRESS = /(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})(?![\w.:])/g

const wordsOf =
  (ips: ReadonlyMap<string, string>) =>
  (text: string): string =>
    text.length > 1000 ? text : text.replaceAll(ADDRESS, (ip) => ips.get(ip) ?? ip)
