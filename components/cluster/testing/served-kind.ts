import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { ControlPlane } from "./control-plane.ts"
import { TestClusterError } from "./caller.ts"

/** Returns the kind that is served under this name, by this server or an extension server. @throws TestClusterError */
export function servedKind(
  { scheme, remoteKinds }: ControlPlane["apiServer"],
  apiVersion: string,
  kind: string,
): Resource {
  const isIt = (one: Resource) => one.apiVersion === apiVersion && one.kind === kind
  const resource = scheme.of(apiVersion, kind) ?? remoteKinds.resources.find(isIt)
  if (resource !== undefined) return resource
  throw new TestClusterError(`No kind ${JSON.stringify(kind)} is served in ${JSON.stringify(apiVersion)}`)
}
