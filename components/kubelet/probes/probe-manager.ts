import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { containerNamed, type AnyContainer } from "../model/containers.ts"
import type { KubeletContext } from "../context.ts"
import type { FailedProbe, ProbeResults } from "../model/probe-results.ts"
import type { RuntimeContainer, RuntimePod } from "../model/runtime-pod.ts"
import { ProbeWorker } from "./probe-worker.ts"
import type { ProbeKind } from "../model/probe-kind.ts"

interface Probed {
  readonly workers: Map<ProbeKind, ProbeWorker>
  started: boolean
  failed: FailedProbe | undefined
}

/**
 * Runs the probes of all containers, by the id of the run: a restarted container is probed anew. Source:
 * pkg/kubelet/prober/prober_manager.go.
 */
export class ProbeManager implements ProbeResults {
  readonly #context: KubeletContext
  readonly #onChange: (podUid: string) => void
  readonly #probed = new Map<string, Map<string, Probed>>()
  #stopped = false

  constructor(context: KubeletContext, onChange: (podUid: string) => void) {
    this.#context = context
    this.#onChange = onChange
  }

  /** Starts the probes of running containers, and ends those of ended ones. Most pods have none. */
  sync(pod: Pod, runtime: RuntimePod): void {
    if (this.#stopped || !hasProbes(pod)) return
    const uid = runtime.identity.uid
    const known = this.#probed.get(uid) ?? new Map<string, Probed>()
    this.#probed.set(uid, known)
    const running = new Map(runtime.containers.filter(({ state }) => state === "running").map((run) => [run.id, run]))
    for (const [id, { workers }] of known) {
      if (running.has(id)) continue
      for (const worker of workers.values()) worker.stop()
      known.delete(id)
    }
    const podIp = pod.spec.hostNetwork === true ? this.#context.config.nodeIps[0] : runtime.sandboxes[0]?.ips[0]
    for (const run of running.values()) {
      if (known.has(run.id)) continue
      const of = containerNamed(pod, run.name)
      if (of === undefined || of.type === "init" || of.type === "ephemeral") continue
      this.#begin(pod, of.container, of.fieldPath, run, podIp ?? "")
    }
  }

  /** Ends the probes that could kill containers of a pod that is ending; readiness probes continue. */
  stopKilling(podUid: string): void {
    for (const { workers } of this.#probed.get(podUid)?.values() ?? []) {
      workers.get("liveness")?.stop()
      workers.get("startup")?.stop()
    }
  }

  stop(podUid: string): void {
    for (const { workers } of this.#probed.get(podUid)?.values() ?? [])
      for (const worker of workers.values()) worker.stop()
    this.#probed.delete(podUid)
    this.#context.metrics.forget(podUid)
  }

  /** Ends all probes for good. */
  stopAll(): void {
    this.#stopped = true
    for (const uid of [...this.#probed.keys()]) this.stop(uid)
  }

  isStarted(container: AnyContainer, run: RuntimeContainer): boolean {
    return container.startupProbe === undefined || this.#of(run)?.started === true
  }
  isReady(container: AnyContainer, run: RuntimeContainer): boolean {
    return container.readinessProbe === undefined || this.#of(run)?.workers.get("readiness")?.result === true
  }
  failed(run: RuntimeContainer): FailedProbe | undefined {
    return this.#of(run)?.failed
  }

  #of(run: RuntimeContainer): Probed | undefined {
    return this.#probed.get(run.pod.uid)?.get(run.id)
  }

  #begin(pod: Pod, container: AnyContainer, fieldPath: string, run: RuntimeContainer, podIp: string): void {
    const uid = run.pod.uid
    // A container adopted after a restart of the kubelet has its reported state.
    const reported = [...(pod.status.containerStatuses ?? []), ...(pod.status.initContainerStatuses ?? [])].find(
      ({ containerID }) => containerID === `containerd://${run.id}`,
    )
    const probed: Probed = {
      workers: new Map(),
      started: container.startupProbe === undefined || reported?.started === true,
      failed: undefined,
    }
    const add = (kind: ProbeKind, initial: boolean, onResult: (ok: boolean) => void) => {
      const probe = {
        startup: container.startupProbe,
        liveness: container.livenessProbe,
        readiness: container.readinessProbe,
      }[kind]
      if (probe === undefined) return
      const worker = new ProbeWorker(this.#context, {
        pod,
        container,
        fieldPath,
        kind,
        probe,
        run,
        podIp,
        initial,
        onResult: (ok) => {
          onResult(ok)
          this.#onChange(uid)
        },
      })
      probed.workers.set(kind, worker)
      worker.start()
    }
    const fail = (probe: "startup" | "liveness", graceSeconds: number | undefined) =>
      (probed.failed = { probe, graceSeconds })
    const rest = () => {
      // A check in progress when its probes were ended starts no others.
      if (this.#stopped || this.#probed.get(uid)?.get(run.id) !== probed) return
      add("readiness", reported?.ready === true, () => {})
      add("liveness", true, (ok) => {
        if (!ok) fail("liveness", container.livenessProbe?.terminationGracePeriodSeconds)
      })
    }
    this.#probed.get(uid)?.set(run.id, probed)
    if (probed.started) rest()
    else {
      add("startup", false, (ok) => {
        if (!ok) return void fail("startup", container.startupProbe?.terminationGracePeriodSeconds)
        probed.started = true
        rest()
      })
    }
  }
}

const hasProbes = ({ spec: { containers, initContainers = [] } }: Pod): boolean =>
  [...containers, ...initContainers].some(
    ({ startupProbe, livenessProbe, readinessProbe }) =>
      (startupProbe ?? livenessProbe ?? readinessProbe) !== undefined,
  )
