import { doctor, healthy, unwell } from "./doctor.ts"
import { incomplete, membersOf } from "./pod/placement/group.ts"
import { POD_GROUPS, PODS } from "./reading/kinds.ts"
import { podFindings } from "./workloads/pods.ts"

/** A PodGroup is well when its pods have their nodes, or when it has no pods that wait. */
export const podGroupDoctor = doctor(POD_GROUPS, async (group, ward) => {
  const members = membersOf(group, await ward.reader.list(PODS, group.metadata.namespace))
  const waiting = members.filter(({ spec }) => !spec.nodeName)
  const summary = `${members.length - waiting.length} of ${members.length} pods have a node`
  if (waiting.length === 0) return healthy(summary)
  const missing = incomplete(group, members)
  if (missing.length > 0) return unwell(summary, missing)
  return unwell(summary, await podFindings(waiting, ward))
})
