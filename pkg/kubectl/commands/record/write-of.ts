import type { KubeObject } from "../../../apimachinery/resource.ts"
import type { LogEntry } from "../../../history/entry.ts"
import type { RecordedWrite } from "../../../replay/format.ts"

/** The users and the field manager of kubelets. */
const NODE_USER = "system:node:"
const KUBELET = "kubelet"

/** Returns a write as a recording has it. @throws Error for an entry without its object */
export function writeOf(
  { revision, time, verb, user, clients, subresource, object }: LogEntry,
  resource: string,
): Omit<RecordedWrite, "type"> {
  if (object === undefined) throw new Error(`the server has sent revision ${revision} without its object`)
  const report = user.startsWith(NODE_USER) || (user === "" && clients.includes(KUBELET))
  const kept = verb === "delete" ? nameOnly(object) : object
  return { resource, revision, time, verb, user, clients, subresource, report, object: kept }
}

/** What names an object that is gone. */
const nameOnly = ({ apiVersion, kind, metadata: { name, namespace, uid } }: KubeObject): KubeObject => ({
  apiVersion,
  kind,
  metadata: {
    name: name!,
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
  },
})
