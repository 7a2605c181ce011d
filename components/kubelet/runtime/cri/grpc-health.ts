import { Client, credentials, type ServiceError } from "@grpc/grpc-js"
import { Buffer } from "node:buffer"
import { formatDuration } from "../../../../pkg/apimachinery/scalars/time.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import { GRPC_CODES } from "../../../../pkg/grpc/codes.ts"
import { enumeration, field, message, type DecodedOf } from "../../../../pkg/protobuf/message.ts"
import { KUBERNETES_MINOR } from "../../../../pkg/version/version.ts"
import type { PodNetwork } from "../runtime.ts"

/** Source: grpc/health/v1/health.proto. */
const HealthCheckRequest = message({ service: field(1, "string") })
const HealthCheckResponse = message({
  status: field(1, enumeration({ UNKNOWN: 0, SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 })),
})
const CHECK = "/grpc.health.v1.Health/Check"

/**
 * Calls grpc.health.v1.Health/Check at `address`, and returns the name of the status. Connects again until the time is
 * over, so that a server which only starts to listen meanwhile is found. Source: pkg/probe/grpc/grpc.go.
 * @throws Error in upstream's words: no connection in time, no such service, no answer in time, or another failure
 */
export async function checkHealth(
  address: string,
  service: string,
  { clock, timeoutMs }: { readonly clock: Pick<Clock, "now">; readonly timeoutMs: number },
): ReturnType<PodNetwork["grpcHealth"]> {
  const deadline = clock.now() + timeoutMs
  const within = formatDuration(timeoutMs)
  const client = new Client(address, credentials.createInsecure(), {
    "grpc.enable_http_proxy": 0,
    "grpc.use_local_subchannel_pool": 1,
    "grpc.primary_user_agent": `kube-probe/${KUBERNETES_MINOR.major}.${KUBERNETES_MINOR.minor}`,
  })
  try {
    await new Promise<void>((resolve, reject) =>
      client.waitForReady(deadline, (err) => (err ? reject(err) : resolve())),
    )
      // The only failure there is: no connection was made in time.
      .catch((err: unknown) => {
        throw new Error(`timeout: failed to connect service "${address}" within ${within}: context deadline exceeded`, {
          cause: err,
        })
      })
    const { status } = await call(client, service, deadline).catch((err: unknown) => {
      throw new Error(failureOf(err as ServiceError, within), { cause: err })
    })
    return status
  } finally {
    client.close()
  }
}

const call = (client: Client, service: string, deadline: number): Promise<DecodedOf<typeof HealthCheckResponse>> =>
  new Promise((resolve, reject) =>
    client.makeUnaryRequest(
      CHECK,
      (value: { service: string }) => Buffer.from(HealthCheckRequest.encode(value)),
      (bytes) => HealthCheckResponse.decode(bytes),
      { service },
      { deadline },
      (err, response) => (response === undefined ? reject(err ?? new Error("no response")) : resolve(response)),
    ),
  )

/** Returns what a probe says of a call that failed; `within` is the time of the probe, as 1s. */
export function failureOf({ code, details }: Pick<ServiceError, "code" | "details">, within: string): string {
  const name = GRPC_CODES[code] ?? "Unknown"
  if (name === "Unimplemented")
    return `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${details}`
  if (name === "DeadlineExceeded") return `timeout: health rpc did not complete within ${within}`
  // Go's name of this one code has one l.
  return `error: health rpc probe failed: rpc error: code = ${name === "Cancelled" ? "Canceled" : name} desc = ${details}`
}
