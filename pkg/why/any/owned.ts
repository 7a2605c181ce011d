import type { KubeObject } from "../../apimachinery/resource.ts"
import type { Finding } from "../answer.ts"
import { askThrough, type Ward } from "../doctor.ts"
import { JOBS, PODS, refOf, REPLICA_SETS, STATEFUL_SETS, type Kind } from "../reading/kinds.ts"

/** The kinds that others own. */
const OWNED: readonly Kind[] = [REPLICA_SETS, JOBS, STATEFUL_SETS, PODS]

/** Returns why objects that are deleted before their owner are still there. */
export async function heldOwnedFindings(owner: KubeObject, ward: Ward): Promise<readonly Finding[]> {
  const { namespace, uid } = owner.metadata
  const findings: Finding[] = []
  for (const kind of OWNED)
    for (const object of (await ward.reader.listIfAllowed(kind, namespace)) ?? []) {
      if (object.metadata.ownerReferences?.some((one) => one.uid === uid) !== true) continue
      for (const one of (await askThrough(ward, refOf(object))).findings) findings.push(one)
    }
  return findings
}
