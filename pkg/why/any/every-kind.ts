import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { KubeObject } from "../../apimachinery/resource.ts"
import { humanDuration, parseTime } from "../../apimachinery/scalars/time.ts"
import { finding, nameOf, type Finding } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { refOf } from "../reading/kinds.ts"
import { finalizerOwner } from "./finalizers.ts"
import { CLEANUP, heldObjectFindings } from "./definition-objects.ts"
import { heldOwnedFindings } from "./owned.ts"
import { USUAL_MS, within } from "../under-way.ts"

/** Returns what can be wrong with an object of any kind: that it is being deleted and held, or that its owner is gone. */
export async function checksOfEveryKind(object: KubeObject, ward: Ward): Promise<readonly Finding[]> {
  const { metadata, kind } = object
  // Pods and Namespaces are deleted in ways of their own, which their doctors know.
  const held = isPod(object) && stillRuns(object) ? [] : (metadata.finalizers ?? [])
  if (metadata.deletionTimestamp !== undefined && held.length > 0) {
    const owned = held.includes("foregroundDeletion")
      ? await heldOwnedFindings(object, ward)
      : held.includes(CLEANUP)
        ? await heldObjectFindings(object, ward)
        : []
    return owned.length > 0 ? owned : [await heldBy(object, ward)]
  }
  if (metadata.deletionTimestamp !== undefined && !["Pod", "Namespace"].includes(kind))
    return [
      within(
        finding("being-deleted", `${nameOf(refOf(object))} is being deleted`, { weight: "waiting" }),
        ward.reader.now,
        parseTime(metadata.deletionTimestamp),
        USUAL_MS,
      ),
    ]
  return []
}

const isPod = (object: KubeObject): object is Pod => object.kind === "Pod" && object.apiVersion === "v1"

/** Whether a pod has containers that run: they end before a finalizer matters. */
const stillRuns = ({ spec, status }: Pod): boolean =>
  Boolean(spec.nodeName) &&
  [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].some(
    ({ state }) => state?.running !== undefined,
  )

async function heldBy(object: KubeObject, ward: Ward): Promise<Finding> {
  const { metadata } = object
  const ref = refOf(object)
  const held = metadata.finalizers ?? []
  const since = parseTime(metadata.deletionTimestamp ?? "")
  const age = since === undefined ? "" : ` for ${humanDuration(ward.reader.now - since)}`
  const owners = await Promise.all(held.map((name) => finalizerOwner(name, object, ward)))
  const [first] = owners
  const works = owners.some((one) => one.works)
  const one = finding(
    "held-by-finalizer",
    `${nameOf(ref)} has been deleted${age} and is held by ${held.length === 1 ? "the finalizer" : "the finalizers"} ` +
      `${held.join(", ")}: ${owners.map(({ says }) => says).join("; ")}`,
    {
      evidence: [`metadata.deletionTimestamp: ${metadata.deletionTimestamp ?? ""}`],
      hints: owners.flatMap(({ hints }) => hints),
      mends: first?.mends ?? [],
      weight: works ? "waiting" : "broken",
    },
  )
  return works ? within(one, ward.reader.now, since, USUAL_MS) : one
}
