import type { Container } from "../../../pkg/api/core/v1/container/container.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isSidecar, type ContainerStart } from "../model/containers.ts"
import type { ProbeResults } from "../model/probe-results.ts"
import { sandboxState } from "../model/sandbox-state.ts"
import { containerHash } from "../model/labels.ts"
import { initRestarts, restarts } from "../../../pkg/api/core/v1/container/container-restart.ts"
import { latest, type RuntimeContainer, type RuntimePod, type RuntimeSandbox } from "../model/runtime-pod.ts"
import { pushAll } from "../../../pkg/lists/push-all.ts"

export interface ContainerKill {
  readonly run: RuntimeContainer
  readonly message: string
  readonly reason: "startup" | "liveness" | "changed" | "unknown"
  readonly graceSeconds?: number | undefined
}

/** The steps that bring a pod from what runs to what it wants, in this order. */
export interface PodPlan {
  /** Whether every container must end first: the sandbox is lost, or nothing is left to run. */
  readonly killPod: boolean
  readonly createSandbox: boolean
  /** The attempt number of the sandbox to create. */
  readonly attempt: number
  /** The sandbox to use when none is created. */
  readonly sandbox: RuntimeSandbox | undefined
  readonly kill: readonly ContainerKill[]
  /** The containers to start, in order. */
  readonly start: readonly ContainerStart[]
}

/**
 * Compares what a pod wants with what runs. Pure. Source of the rules: pkg/kubelet/kuberuntime/kuberuntime_manager.go
 * computePodActions, computeInitContainerActions; KEP-753 for sidecars. Differs from upstream: init containers are
 * judged by the runs in the present sandbox only, and in order.
 */
export function planOf(pod: Pod, runtime: RuntimePod, probes: Pick<ProbeResults, "isStarted" | "failed">): PodPlan {
  const { changed, attempt, sandbox } = sandboxState(pod, runtime)
  return changed ? planNewSandbox(pod, runtime, attempt) : planInSandbox(pod, runtime, sandbox!, probes)
}

function planNewSandbox(pod: Pod, runtime: RuntimePod, attempt: number): PodPlan {
  const killPod = runtime.sandboxes.length > 0
  const wanted = pod.spec.containers.filter((container) => wantsRun(pod, container, latest(runtime, container.name)))
  // With restartPolicy Never, the end of the sandbox is the end of the pod.
  const over =
    wanted.length === 0 ||
    (attempt > 0 &&
      pod.spec.restartPolicy === "Never" &&
      runtime.containers.length > 0 &&
      !wanted.some(({ restartPolicy }) => restartPolicy !== undefined))
  if (over) return { killPod, createSandbox: false, attempt, sandbox: undefined, kill: [], start: [] }
  const start =
    (pod.spec.initContainers ?? []).length > 0 ? [initStart(pod.spec.initContainers![0]!)] : wanted.map(regularStart)
  return { killPod, createSandbox: true, attempt, sandbox: undefined, kill: [], start }
}

function planInSandbox(
  pod: Pod,
  runtime: RuntimePod,
  sandbox: RuntimeSandbox,
  probes: Pick<ProbeResults, "isStarted" | "failed">,
): PodPlan {
  const kill: ContainerKill[] = []
  const start: ContainerStart[] = []
  for (const container of pod.spec.ephemeralContainers ?? []) {
    if (latest(runtime, container.name) === undefined)
      start.push({ type: "ephemeral", container, fieldPath: `spec.ephemeralContainers{${container.name}}` })
  }
  const plan = (more: Partial<PodPlan> = {}): PodPlan => ({
    killPod: false,
    createSandbox: false,
    attempt: sandbox.attempt,
    sandbox,
    kill,
    start,
    ...more,
  })

  const init = planInit(pod, runtime, sandbox, probes)
  pushAll(kill, init.kill)
  pushAll(start, init.start)
  if (init.state === "failed") return plan({ killPod: true, kill: [], start: [] })
  if (init.state === "waiting") return plan()

  let kept = 0
  let started = 0
  for (const container of pod.spec.containers) {
    const run = latest(runtime, container.name)
    if (run?.state !== "running") {
      if (!wantsRun(pod, container, run)) continue
      if (run?.state === "unknown")
        kill.push({
          run,
          reason: "unknown",
          message: `Container ${container.name} is in unknown state, try killing it before restart`,
        })
      start.push(regularStart(container))
      started++
      continue
    }
    const wrong = whatIsWrong(pod, container, run, probes)
    if (wrong === undefined) {
      kept++
      continue
    }
    kill.push(wrong.kill)
    if (wrong.restart) {
      start.push(regularStart(container))
      started++
    } else kept++ // it runs until it is killed
  }
  if (kept === 0 && started === 0) return plan({ killPod: true, kill: [], start: [] })
  return plan()
}

/** Whether a container that does not run should run. `run` is its newest run. */
function wantsRun(pod: Pod, container: Container, run: RuntimeContainer | undefined): boolean {
  if (run === undefined || run.state === "unknown" || run.state === "created") return true
  return run.state === "exited" && restarts(pod, container, run.exitCode)
}

/** Returns why a running container must be killed, and whether it is restarted; undefined if it may run on. */
function whatIsWrong(
  pod: Pod,
  container: Container,
  run: RuntimeContainer,
  probes: Pick<ProbeResults, "failed">,
): { readonly kill: ContainerKill; readonly restart: boolean } | undefined {
  if (run.notes.hash !== containerHash(container)) {
    return {
      restart: true,
      kill: { run, reason: "changed", message: `Container ${container.name} definition changed, will be restarted` },
    }
  }
  const failed = probes.failed(run)
  if (failed === undefined) return undefined
  const restart = restarts(pod, container, 137)
  return {
    restart,
    kill: {
      run,
      reason: failed.probe,
      graceSeconds: failed.graceSeconds,
      message: `Container ${container.name} failed ${failed.probe} probe${restart ? ", will be restarted" : ""}`,
    },
  }
}

interface InitPlan {
  readonly state: "done" | "waiting" | "failed"
  readonly kill: readonly ContainerKill[]
  readonly start: readonly ContainerStart[]
}

function planInit(
  pod: Pod,
  runtime: RuntimePod,
  sandbox: RuntimeSandbox,
  probes: Pick<ProbeResults, "isStarted" | "failed">,
): InitPlan {
  const kill: ContainerKill[] = []
  const start: ContainerStart[] = []
  const here = { ...runtime, containers: runtime.containers.filter(({ sandboxId }) => sandboxId === sandbox.id) }
  // Once a regular container was created, initialization is complete; only sidecars are still restarted.
  const initialized = pod.spec.containers.some(({ name }) => latest(here, name) !== undefined)
  const outcome = (state: InitPlan["state"]): InitPlan => ({ state, kill, start })
  for (const container of pod.spec.initContainers ?? []) {
    const run = latest(here, container.name)
    if (isSidecar(container)) {
      const wrong = run?.state === "running" ? whatIsWrong(pod, container, run, probes) : undefined
      if (wrong !== undefined) kill.push(wrong.kill)
      if (run?.state === "unknown")
        kill.push({
          run,
          reason: "unknown",
          message: `Init container ${container.name} is in unknown state, try killing it before restart`,
        })
      if (run?.state !== "running" || wrong !== undefined) start.push(initStart(container))
      else if (probes.isStarted(container, run)) continue
      if (!initialized) return outcome("waiting")
      continue
    }
    if (initialized) continue
    if (run?.state === "running") return outcome("waiting")
    if (run?.state === "exited") {
      if (run.exitCode === 0) continue
      if (!initRestarts(pod, container, run.exitCode)) return outcome("failed")
    }
    if (run?.state === "unknown")
      kill.push({
        run,
        reason: "unknown",
        message: `Init container ${container.name} is in unknown state, try killing it before restart`,
      })
    start.push(initStart(container))
    return outcome("waiting")
  }
  return outcome("done")
}

const regularStart = (container: Container): ContainerStart => ({
  type: "regular",
  container,
  fieldPath: `spec.containers{${container.name}}`,
})
const initStart = (container: Container): ContainerStart => ({
  type: isSidecar(container) ? "sidecar" : "init",
  container,
  fieldPath: `spec.initContainers{${container.name}}`,
})
