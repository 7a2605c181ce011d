import type { PriorityClass } from "../../api/scheduling/v1/priorityclass.ts"
import type { Describer } from "./describing.ts"
import { describeEvents, eventsOf } from "./events.ts"
import { labelsText } from "./metadata.ts"
import { description } from "./prefix-writer.ts"

const PRIORITY_CLASSES = { group: "scheduling.k8s.io", version: "v1", resource: "priorityclasses" }

export const describePriorityClass: Describer = async (describing, _namespace, name) => {
  const priorityClass = await describing.client.get<PriorityClass>(PRIORITY_CLASSES, "", name)
  const events = await eventsOf(describing, priorityClass)
  return description((w) => {
    w.row(0, "Name:", priorityClass.metadata.name ?? "")
    w.row(0, "Value:", priorityClass.value)
    w.row(0, "GlobalDefault:", priorityClass.globalDefault ?? false)
    w.row(0, "PreemptionPolicy:", priorityClass.preemptionPolicy ?? "")
    w.row(0, "Description:", priorityClass.description ?? "")
    w.row(0, "Annotations:", labelsText(priorityClass.metadata.annotations))
    describeEvents(w, events, describing.now())
  })
}
