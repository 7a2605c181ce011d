import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { isAvailable } from "../../../pkg/api/apiregistration/v1/apiservice.ts"
import { authorize } from "../authorization/authorize.ts"
import { requestInfo } from "../call/request-info.ts"
import type { Pipeline, UserInfo } from "../call/request.ts"
import type { Aggregator } from "./aggregator.ts"

const TIMEOUT_MS = 30_000
const MOST_BYTES = 64 * 1024 * 1024

/** Requests a path of an aggregated API, and returns the parsed JSON. @throws ApiError with client-go's message */
export type AskAggregated = (path: string) => Promise<unknown>

/**
 * Lets a component of this process send requests to extension servers as `user`. The typed client cannot be used, since
 * this server does not declare the kinds. The user's rights are checked as for any other request.
 */
export const askAggregated =
  (
    { aggregator, pipeline }: { readonly aggregator: Aggregator; readonly pipeline: Pick<Pipeline, "authorize"> },
    user: UserInfo,
  ): AskAggregated =>
  async (path) => {
    const info = requestInfo("GET", path)
    const { verb, group, version, resource, subresource, namespace, name } = info
    const about = `${verb} ${resource}.${group}`
    await authorize(pipeline, {
      user,
      verb,
      group,
      version,
      resource,
      subresource: subresource || undefined,
      namespace: namespace || undefined,
      name: name || undefined,
    })
    const service = aggregator.remoteOf(info)
    if (service === undefined)
      throw new ApiError("NotFound", `the server could not find the requested resource (${about})`)
    if (!isAvailable(service))
      throw new ApiError("ServiceUnavailable", `the server is currently unable to handle the request (${about})`)
    const { code, body } = await aggregator.ask(service, { path, user, timeoutMs: TIMEOUT_MS, mostBytes: MOST_BYTES })
    const answer = parsed(body.toString("utf8"))
    if (code === 200 && answer !== undefined) return answer
    const { message } = (answer ?? {}) as { readonly message?: unknown }
    throw new ApiError(
      code === 404 ? "NotFound" : "InternalError",
      typeof message === "string" ? message : `the server answered with ${code} (${about})`,
    )
  }

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
