import type { RecordedWrite } from "../../../../pkg/replay/format.ts"
import { CONTROLLER_ROLES } from "../../../apiserver/authorization/bootstrap-controller-roles.ts"

/**
 * Who has made a recorded write:
 *
 *  - controlled: a controller or the scheduler, which run in the replay themselves, or what the test runs instead.
 *  - node: a kubelet, whose containers behave in the replay as it has reported.
 *  - server: the API server, which has its own objects in every cluster.
 *  - outside: everyone else. These writes are played.
 */
export type Author = "controlled" | "node" | "server" | "outside"

const ACCOUNT = "system:serviceaccount:kube-system:"
const OWN: ReadonlySet<string> = new Set(["system:kube-scheduler", "system:kube-controller-manager"])
/** The field managers of the same, where only these are known. */
const OWN_CLIENTS: ReadonlySet<string> = new Set(["kube-controller-manager", "kube-scheduler"])

/** Returns who has made a write. `instead` are those in whose place the test runs something. */
export function authorOf(
  { user, clients, report }: Pick<RecordedWrite, "user" | "clients" | "report">,
  instead: ReadonlySet<string>,
): Author {
  if (instead.has(user)) return "controlled"
  if (report) return "node"
  if (user === "system:apiserver" || user.startsWith("system:controller:")) return "server"
  if (OWN.has(user)) return "controlled"
  if (user.startsWith(ACCOUNT) && Object.hasOwn(CONTROLLER_ROLES, user.slice(ACCOUNT.length))) return "controlled"
  const isOwn = (name: string) => OWN_CLIENTS.has(name) || instead.has(name)
  if (user === "" && clients.length > 0 && clients.every(isOwn)) return "controlled"
  return "outside"
}
