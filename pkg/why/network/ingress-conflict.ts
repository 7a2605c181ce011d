import type { Ingress } from "../../api/networking/v1/ingress.ts"
import { finding, nameOf, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { INGRESSES, refOf } from "../reading/kinds.ts"

/**
 * Returns that an older Ingress of the same class has a host and path of this one, where its controller says so in a
 * warning: whether two may share a path is up to the controller.
 */
export async function pathConflictFinding(
  ingress: Ingress,
  warnings: readonly string[],
  ward: Ward,
): Promise<Finding | undefined> {
  const said = warnings.filter((line) => /conflict|already/i.test(line))
  const all = said.length === 0 ? undefined : await ward.reader.listIfAllowed(INGRESSES)
  const own = pathsOf(ingress)
  for (const other of all ?? []) {
    if (other.metadata.uid === ingress.metadata.uid || !isOlder(other, ingress)) continue
    if (other.spec.ingressClassName !== ingress.spec.ingressClassName) continue
    const shared = pathsOf(other).find((path) => own.includes(path))
    if (shared !== undefined)
      return finding("ingress-path-taken", `${shared} leads to what the older ${nameOf(refOf(other))} says`, {
        evidence: said,
        hints: ["remove the path from one of them, or use another host"],
      })
  }
  return undefined
}

/** `a.example/api` for each path. */
const pathsOf = ({ spec }: Ingress): readonly string[] =>
  (spec.rules ?? []).flatMap(({ host = "", http }) => (http?.paths ?? []).map(({ path = "/" }) => `${host}${path}`))

const isOlder = ({ metadata: a }: Ingress, { metadata: b }: Ingress): boolean =>
  (a.creationTimestamp ?? "") < (b.creationTimestamp ?? "")
