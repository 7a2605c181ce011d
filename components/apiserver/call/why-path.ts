import type { RequestInfo } from "./request-info.ts"

/** The path under which the server tells why objects are not well. */
export const WHY = "/k3ts/why"

/** Whether a request asks why an object, or the cluster, is not well. */
export const isWhyPath = ({ isResource, path }: Pick<RequestInfo, "isResource" | "path">): boolean =>
  !isResource && (path === WHY || path.startsWith(`${WHY}/`))
