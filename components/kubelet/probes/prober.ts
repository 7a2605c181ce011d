import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { Probe } from "../../../pkg/api/core/v1/container/probe.ts"
import { isCriError } from "../../../pkg/cri/errors.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { AnyContainer } from "../model/containers.ts"
import type { KubeletContext } from "../context.ts"
import { httpGetRequest } from "../model/http-get.ts"
import { portOf } from "../model/ports.ts"

export interface Check {
  readonly ok: boolean
  /** Whether a successful check is reported by the event ProbeWarning. */
  readonly isDoubtful?: boolean
  /** The output that the event Unhealthy or ProbeWarning shows. */
  readonly output: string
}

export interface CheckRequest {
  readonly pod: Pod
  readonly container: AnyContainer
  readonly containerId: string
  readonly podIp: string
  readonly probe: Probe
  readonly signal: AbortSignal
}

/**
 * Runs one check. Never throws: a check that cannot run has failed. Source: pkg/kubelet/prober/prober.go, pkg/probe/*.
 */
export async function check(context: KubeletContext, request: CheckRequest): Promise<Check> {
  try {
    return await tryCheck(context, request)
  } catch (err) {
    return { ok: false, output: errorMessage(err) }
  }
}

async function tryCheck(
  { runtime }: KubeletContext,
  { container, containerId, podIp, probe, signal }: CheckRequest,
): Promise<Check> {
  const timeoutMs = probe.timeoutSeconds * 1000
  if (probe.exec !== undefined) {
    const command = probe.exec.command ?? []
    try {
      const { exitCode, stdout, stderr } = await runtime.containers.execSync(
        containerId,
        command,
        probe.timeoutSeconds,
        { signal },
      )
      return { ok: exitCode === 0, output: Buffer.concat([stdout, stderr]).subarray(0, MAX_OUTPUT).toString("utf8") }
    } catch (err) {
      if (isCriError(err, "DeadlineExceeded"))
        return {
          ok: false,
          output: `command timed out: "${command.join(" ")}" timed out after ${probe.timeoutSeconds}s`,
        }
      throw err
    }
  }
  if (probe.httpGet !== undefined) {
    const { status, body } = await runtime.network.httpGet(
      httpGetRequest({ action: probe.httpGet, container, podIp, purpose: "probe", timeoutMs }),
      signal,
    )
    if (status < 200 || status >= 400) return { ok: false, output: `HTTP probe failed with statuscode: ${status}` }
    // A redirect that was not followed leads to another host, whose health would show nothing about this one.
    if (status >= 300)
      return { ok: true, isDoubtful: true, output: `Probe terminated redirects, Response body: ${body}` }
    return { ok: true, output: body }
  }
  if (probe.tcpSocket !== undefined) {
    const { host, port } = probe.tcpSocket
    await runtime.network.tcpConnect(host ? host : podIp, portOf(port, container), timeoutMs)
    return { ok: true, output: "" }
  }
  if (probe.grpc !== undefined) {
    const status = await runtime.network.grpcHealth(podIp, probe.grpc.port, probe.grpc.service ?? "", timeoutMs)
    return {
      ok: status === "SERVING",
      output: `service ${status === "SERVING" ? "healthy" : `unhealthy (responded with "${status}")`}`,
    }
  }
  return { ok: true, output: "" }
}

const MAX_OUTPUT = 10 * 1024
