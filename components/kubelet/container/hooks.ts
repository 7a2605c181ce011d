import { joinHostPort } from "../../../pkg/apimachinery/addresses/cidr.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { LifecycleHandler } from "../../../pkg/api/core/v1/container/probe.ts"
import { sleep } from "../../../pkg/clock/clock.ts"
import type { AnyContainer } from "../model/containers.ts"
import type { KubeletContext } from "../context.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { httpGetRequest } from "../model/http-get.ts"
import type { HttpProbeRequest } from "../runtime/runtime.ts"

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
export async function runHook(context: KubeletContext, request: HookRequest): Promise<void> {
  const { runtime, clock } = context
  const { container, containerId, handler, signal } = request
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
    const podIp = request.podIp ?? handler.httpGet.host
    if (!podIp) throw new Error("failed to find networking container: the pod has no address")
    const get = httpGetRequest({
      action: handler.httpGet,
      container,
      podIp,
      purpose: "lifecycle",
      timeoutMs: HTTP_TIMEOUT_MS,
    })
    return getOnce(context, request.pod, get, signal)
  }
  if (handler.sleep !== undefined) return sleep(clock, handler.sleep.seconds * 1000, signal)
  throw new Error("invalid handler: it names neither exec, httpGet nor sleep")
}

const HTTP_TIMEOUT_MS = 60_000

/**
 * Sends the request, of which any answer is good. A server that speaks no TLS is asked again without it, and without
 * what it should not be told then. Source: pkg/kubelet/lifecycle/handlers.go runHTTPHandler.
 */
async function getOnce(
  { runtime, events }: KubeletContext,
  pod: Pod,
  get: HttpProbeRequest,
  signal: AbortSignal,
): Promise<void> {
  try {
    await runtime.network.httpGet(get, signal)
  } catch (err) {
    if (get.scheme !== "HTTPS" || !errorMessage(err).includes("server gave HTTP response to HTTPS client")) throw err
    const headers = get.headers.filter(({ name }) => name.toLowerCase() !== "authorization")
    await runtime.network.httpGet({ ...get, scheme: "HTTP", headers }, signal)
    events.event(
      pod,
      "Warning",
      "LifecycleHTTPFallback",
      `request to HTTPS lifecycle hook ${joinHostPort(get.host, get.port)} got HTTP response, retry with HTTP succeeded`,
    )
  }
}
