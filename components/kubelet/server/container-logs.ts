import { badRequest } from "../../../pkg/apimachinery/errors.ts"
import type { LogOptions, NodeConnector } from "../../../pkg/component/node-connector.ts"
import { streamOf } from "./stream-of.ts"

/**
 * Answers /containerLogs/NAMESPACE/POD/CONTAINER with what `kubectl logs` shows. `signal` aborts when the asker is
 * gone. @throws ApiError
 */
export async function containerLogs(
  logs: NodeConnector["logs"],
  { pathname, searchParams }: URL,
  signal: AbortSignal,
): Promise<Response> {
  const [, , namespace = "", name = "", container = "", ...more] = pathname.split("/").map(decodeURIComponent)
  if (namespace === "" || name === "" || container === "" || more.length > 0)
    throw badRequest("the path must be /containerLogs/<namespace>/<pod>/<container>")
  const log = await logs({ namespace, name, uid: "" }, optionsOf(searchParams, container), signal)
  return new Response(streamOf(log, signal), {
    headers: { "Content-Type": "text/plain", "Transfer-Encoding": "chunked" },
  })
}

/** `tail` is an older name of `tailLines`. */
function optionsOf(query: URLSearchParams, container: string): LogOptions {
  const on = (name: string): boolean => query.get(name) === "true" || query.get(name) === "1"
  const number = (name: string, text = query.get(name) ?? ""): Record<string, number> => {
    if (text === "" || (name === "tailLines" && text === "all")) return {}
    if (!/^\d+$/.test(text)) throw badRequest(`invalid ${name} ${JSON.stringify(text)}: must be a whole number`)
    return { [name]: Number(text) }
  }
  const [sinceTime, stream] = [query.get("sinceTime"), query.get("stream")]
  if (stream !== null && stream !== "All" && stream !== "Stdout" && stream !== "Stderr")
    throw badRequest(`invalid stream type ${JSON.stringify(stream)}`)
  return {
    container,
    follow: on("follow"),
    previous: on("previous"),
    timestamps: on("timestamps"),
    ...number("tailLines", query.get("tail") ?? query.get("tailLines") ?? ""),
    ...number("sinceSeconds"),
    ...number("limitBytes"),
    ...(sinceTime === null || sinceTime === "" ? {} : { sinceTime }),
    ...(stream === null ? {} : { stream }),
  }
}
