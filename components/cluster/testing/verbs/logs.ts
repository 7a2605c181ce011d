import type { Pod } from "../../../../pkg/api/core/v1/pod/pod.ts"
import type { Clock } from "../../../../pkg/clock/clock.ts"
import type { NodeConnector } from "../../../../pkg/component/node-connector.ts"
import type { ClusterParts } from "../cluster-parts.ts"
import { TestClusterError } from "../caller.ts"
import { milliseconds, type Duration } from "../time/duration.ts"

/** The part of a container's log to read, as with the flags of `kubectl logs`. */
export interface LogsOptions {
  /** The first container by default. */
  readonly container?: string
  /** The log of the container's previous run. */
  readonly previous?: boolean
  /** The last lines, at most this many. */
  readonly tail?: number
  /** Only lines that are not older than this. */
  readonly since?: Duration
  /** Only lines from this instant on. */
  readonly sinceTime?: string | Date
  /** Begins each line with its timestamp. */
  readonly timestamps?: boolean
  /** The first bytes, at most this many. */
  readonly limitBytes?: number
}

/**
 * Reads a log from the kubelet of the pod's node, and lets time go on until it is read.
 * @throws ApiError of the kubelet, for example when the container has not started; TestClusterError for invalid
 * options, and where no kubelet runs on the node
 */
export function readLogs(
  { assembly, clock, driver }: Pick<ClusterParts, "assembly" | "clock" | "driver">,
  pod: Pod,
  options: LogsOptions,
): Promise<string> {
  const { nodeName = "" } = pod.spec
  const reading = read(pod, options, assembly.connectors.get(nodeName), clock)
  return driver.ended(() => `logs waits for the kubelet of ${nodeName}`, reading)
}

async function read(
  pod: Pod,
  { container, previous = false, tail, since, sinceTime, timestamps = false, limitBytes }: LogsOptions,
  connector: NodeConnector | undefined,
  clock: Clock,
): Promise<string> {
  const { name = "", namespace = "", uid = "" } = pod.metadata
  if (connector === undefined)
    throw new TestClusterError(
      `Cannot read the log of pod ${JSON.stringify(name)}: ` +
        `${pod.spec.nodeName ? `no kubelet runs on its node ${pod.spec.nodeName}` : "it has no node yet"}`,
    )
  if (since !== undefined && sinceTime !== undefined)
    throw new TestClusterError("Cannot read a log with both since and sinceTime: give one of them")
  for (const [option, value, least] of [
    ["tail", tail, 0],
    ["limitBytes", limitBytes, 1],
  ] as const)
    if (value !== undefined && (!Number.isInteger(value) || value < least))
      throw new TestClusterError(
        `Cannot read a log with ${option}: ${value}: expected a whole number of ${least} or more`,
      )
  const from = since === undefined ? sinceTime : clock.now() - milliseconds(since)
  const chunks = await connector.logs(
    { namespace, name, uid },
    {
      container: container ?? pod.spec.containers[0]?.name ?? "",
      previous,
      timestamps,
      follow: false,
      ...(tail === undefined ? {} : { tailLines: tail }),
      ...(limitBytes === undefined ? {} : { limitBytes }),
      ...(from === undefined ? {} : { sinceTime: new Date(from).toISOString() }),
    },
    new AbortController().signal,
  )
  const decoder = new TextDecoder()
  let text = ""
  for await (const chunk of chunks) text += decoder.decode(chunk, { stream: true })
  return text + decoder.decode()
}
