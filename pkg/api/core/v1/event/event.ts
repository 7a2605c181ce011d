import { f, message, type ObjectOf } from "../../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../../apimachinery/resource.ts"
import { ageOf } from "../../../../apimachinery/scalars/time.ts"
import { eventFaults } from "./event-validation.ts"
import { ObjectReference } from "../reference.ts"

/** Source: k8s.io/api core/v1/types.go, pkg/registry/core/event/strategy.go. */

export const EventSource = message("core.v1.EventSource", "The reporter of an event.", {
  component: f.string(1, "Name of the component."),
  host: f.string(2, "Node on which it runs."),
})
export interface EventSource extends ObjectOf<typeof EventSource> {}

export const EventSeries = message("core.v1.EventSeries", "How often an event was seen.", {
  count: f.int32(1, "How often it was seen."),
  lastObservedTime: f.microTime(2, "When it was last seen.").orNull(),
})
export interface EventSeries extends ObjectOf<typeof EventSeries> {}

const fields = {
  involvedObject: f.message(2, ObjectReference, "The object that the event is about.").always().printZero(),
  reason: f.string(3, "Why it happened, one word."),
  message: f.string(4, "What happened, in words."),
  source: f.message(5, EventSource, "Who reported it.").always(),
  firstTimestamp: f.time(6, "When it was first seen.").orNull(),
  lastTimestamp: f.time(7, "When it was last seen.").orNull(),
  count: f.int32(8, "How often it was seen."),
  type: f.string(9, "Normal or Warning."),
  eventTime: f.microTime(10, "When it was first seen, to the microsecond.").orNull(),
  series: f.message(11, EventSeries, "How often it was seen, for events of the newer form."),
  action: f.string(12, "What was done or failed."),
  related: f.message(13, ObjectReference, "A second object that took part."),
  reportingComponent: f.string(14, "Controller that reported it.").default(""),
  reportingInstance: f.string(15, "Instance of that controller.").default(""),
}
export interface Event extends ObjectFor<typeof fields> {}

export const Event = defineResource(
  {
    group: "",
    version: "v1",
    kind: "Event",
    plural: "events",
    shortNames: ["ev"],
    scope: "Namespaced",
    upstreamChecks: { createMetadata: false, metadataUpdate: 0 },
    doc: "Something that happened to an object, kept for an hour unless the server is told otherwise.",
    ttlSeconds: 3600,
    allowCreateOnUpdate: true,
    defaultGarbageCollectionPolicy: "Unsupported",
    nameColumn: false,
    ageColumn: false,
    columns: [
      {
        name: "Last Seen",
        type: "string",
        doc: "Time since the event last occurred.",
        value: (event, now) => ageOf(lastSeen(event), now),
      },
      { name: "Type", type: "string", doc: "Normal or Warning.", value: ({ type }) => type ?? "" },
      { name: "Reason", type: "string", doc: "Reason of the event.", value: ({ reason }) => reason ?? "" },
      {
        name: "Object",
        type: "string",
        doc: "Object that the event is about.",
        value: ({ involvedObject: { kind = "", name = "" } }) =>
          name === "" ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`,
      },
      {
        name: "Subobject",
        type: "string",
        priority: 1,
        doc: "Part of the object that the event is about.",
        value: ({ involvedObject }) => involvedObject.fieldPath ?? "",
      },
      {
        name: "Source",
        type: "string",
        priority: 1,
        doc: "Component that reported the event.",
        value: (event) => [sourceOf(event), event.source.host || event.reportingInstance].filter(Boolean).join(", "),
      },
      { name: "Message", type: "string", doc: "Message of the event.", value: ({ message = "" }) => message.trim() },
      {
        name: "First Seen",
        type: "string",
        priority: 1,
        doc: "Time since the event first occurred.",
        value: ({ firstTimestamp, eventTime }, now) => ageOf(firstTimestamp ?? eventTime, now),
      },
      {
        name: "Count",
        type: "string",
        priority: 1,
        doc: "Number of occurrences.",
        value: ({ series, count }) => series?.count ?? (count || 1),
      },
      {
        name: "Name",
        type: "string",
        format: "name",
        priority: 1,
        doc: "Name of the event.",
        value: ({ metadata }) => metadata.name,
      },
    ],
    fieldSelectors: {
      "involvedObject.kind": ({ involvedObject }) => involvedObject.kind ?? "",
      "involvedObject.namespace": ({ involvedObject }) => involvedObject.namespace ?? "",
      "involvedObject.name": ({ involvedObject }) => involvedObject.name ?? "",
      "involvedObject.uid": ({ involvedObject }) => involvedObject.uid ?? "",
      "involvedObject.apiVersion": ({ involvedObject }) => involvedObject.apiVersion ?? "",
      "involvedObject.resourceVersion": ({ involvedObject }) => involvedObject.resourceVersion ?? "",
      "involvedObject.fieldPath": ({ involvedObject }) => involvedObject.fieldPath ?? "",
      reason: ({ reason }) => reason ?? "",
      reportingComponent: (event) => event.reportingComponent,
      source: (event) => sourceOf(event),
      type: ({ type }) => type ?? "",
    },
    validate: (event) => eventFaults(event),
  },
  fields,
)

const sourceOf = (event: Event): string => event.source.component || event.reportingComponent

const lastSeen = ({ series, lastTimestamp, firstTimestamp, eventTime }: Event): string | null | undefined =>
  series?.lastObservedTime ?? lastTimestamp ?? firstTimestamp ?? eventTime
