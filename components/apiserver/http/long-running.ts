import type { RequestInfo } from "../call/request-info.ts"

/**
 * Subresources whose requests last as long as the client likes. Source: genericfilters.BasicLongRunningRequestCheck.
 */
const STREAMING: readonly string[] = ["attach", "exec", "proxy", "log", "portforward"]

/** Whether a request is a watch or a stream, which has no time limit. */
export const isLongRunning = ({ isResource, verb, subresource }: RequestInfo): boolean =>
  isResource && (verb === "watch" || (subresource !== "" && STREAMING.includes(subresource)))
