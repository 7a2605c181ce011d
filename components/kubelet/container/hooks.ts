import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { LifecycleHandler } from "../../../pkg/api/core/v1/container/probe.ts"
import { sleep } from "../../../pkg/clock/clock.ts"
import type { AnyContainer } from "../model/containers.ts"
import type { KubeletContext } from "../context.ts"
import { portOf } from "../model/ports.ts"

export interface HookRequest {
  readonly pod: Pod
  readonly container: AnyContainer
  readonly containerId: string
  readonly handler: LifecycleHandler
  readonly podIp: string | undefined
  readonly signal: AbortSignal
}

/**
 * Runs a postStart or preStop handler until it ends. Source: pkg/kubelet/lifecycle/handlers.go. @throws Error with the
 * reason of a failure
 */
export async function runHook(
  { runtime, clock }: KubeletContext,
  { container, containerId, handler, podIp, signal }: HookRequest,
): Promise<void> {
  if (handler.exec !== undefined) {
    const command = handler.exec.command ?? []
    const { exitCode, stdout, stderr } = await runtime.containers.execSync(containerId, command, 0, { signal })
    if (exitCode === 0) return
    const output = Buffer.concat([stdout, stderr]).subarray(0, 1024).toString("utf8")
    throw new Error(
      `Exec lifecycle hook (${JSON.stringify(command)}) for Container "${container.name}" failed - error: ` +
        `command '${command.join(" ")}' exited with ${exitCode}: ${output}, message: ${JSON.stringify(output)}`,
    )
  }
  if (handler.httpGet !== undefined) {
    const { host, scheme, path, httpHeaders = [] } = handler.httpGet
    const target = host ? host : podIp
    if (target === undefined) throw new Error("failed to find networking container: the pod has no address")
    await runtime.network.httpGet(
      {
        scheme,
        host: target,
        port: portOf(handler.httpGet.port, container),
        path,
        headers: httpHeaders,
        timeoutMs: HTTP_TIMEOUT_MS,
      },
      signal,
    )
    return
  }
  if (handler.sleep !== undefined) return sleep(clock, handler.sleep.seconds * 1000, signal)
  throw new Error("invalid handler: it names neither exec, httpGet nor sleep")
}

const HTTP_TIMEOUT_MS = 60_000
