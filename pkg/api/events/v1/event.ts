import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import type { KubeObject } from "../../../apimachinery/resource.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { ageOf } from "../../../apimachinery/scalars/time.ts"
import { EventSource, type Event as CoreEvent } from "../../core/v1/event/event.ts"
import { eventChangeFaults, eventFaults, newEventFaults } from "../../core/v1/event/event-validation.ts"
import { ObjectReference } from "../../core/v1/reference.ts"

/**
 * The newer form of events: the same stored objects as core events, with other names of the fields. Source: k8s.io/api
 * events/v1/types.go, pkg/apis/events/v1/conversion.go.
 */

export const EventSeries = message("events.v1.EventSeries", "How often an event was seen.", {
  count: f.int32(1, "How often it was seen.").default(0).printZero(),
  lastObservedTime: f.microTime(2, "When it was last seen.").required().ownRule().orNull(),
})
export interface EventSeries extends ObjectOf<typeof EventSeries> {}

const fields = {
  eventTime: f.microTime(2, "When it was first seen, to the microsecond.").printZero().orNull(),
  series: f.message(3, EventSeries, "How often it was seen."),
  reportingController: f.string(4, "Controller that reported it."),
  reportingInstance: f.string(5, "Instance of that controller."),
  action: f.string(6, "Action that was taken or has failed."),
  reason: f.string(7, "Reason of the event, in one word."),
  regarding: f.message(8, ObjectReference, "The object that the event is about.").always(),
  related: f.message(9, ObjectReference, "A second object that took part."),
  note: f.string(10, "Description of the event."),
  type: f.string(11, "Normal or Warning."),
  deprecatedSource: f.message(12, EventSource, "Reporter of the event, in the older form.").always(),
  deprecatedFirstTimestamp: f.time(13, "When it was first seen, in the older form.").orNull(),
  deprecatedLastTimestamp: f.time(14, "When it was last seen, in the older form.").orNull(),
  deprecatedCount: f.int32(15, "How often it was seen, in the older form."),
}
export interface Event extends ObjectFor<typeof fields> {}

export const Event = defineResource(
  {
    group: "events.k8s.io",
    version: "v1",
    kind: "Event",
    plural: "events",
    shortNames: ["ev"],
    scope: "Namespaced",
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
        value: ({ series, deprecatedLastTimestamp, deprecatedFirstTimestamp, eventTime }, now) =>
          ageOf(series?.lastObservedTime ?? deprecatedLastTimestamp ?? deprecatedFirstTimestamp ?? eventTime, now),
      },
      { name: "Type", type: "string", doc: "Normal or Warning.", value: ({ type }) => type ?? "" },
      { name: "Reason", type: "string", doc: "Reason of the event.", value: ({ reason }) => reason ?? "" },
      {
        name: "Object",
        type: "string",
        doc: "Object that the event is about.",
        value: ({ regarding: { kind = "", name = "" } }) =>
          name === "" ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`,
      },
      {
        name: "Subobject",
        type: "string",
        priority: 1,
        doc: "Part of the object that the event is about.",
        value: ({ regarding }) => regarding.fieldPath ?? "",
      },
      {
        name: "Source",
        type: "string",
        priority: 1,
        doc: "Component that reported the event.",
        value: (event) =>
          [
            event.deprecatedSource.component || event.reportingController,
            event.deprecatedSource.host || event.reportingInstance,
          ]
            .filter(Boolean)
            .join(", "),
      },
      { name: "Message", type: "string", doc: "Message of the event.", value: ({ note = "" }) => note.trim() },
      {
        name: "First Seen",
        type: "string",
        priority: 1,
        doc: "Time since the event first occurred.",
        value: ({ deprecatedFirstTimestamp, eventTime }, now) => ageOf(deprecatedFirstTimestamp ?? eventTime, now),
      },
      {
        name: "Count",
        type: "string",
        priority: 1,
        doc: "Number of occurrences.",
        value: ({ series, deprecatedCount }) => series?.count ?? (deprecatedCount || 1),
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
      "regarding.kind": ({ regarding }) => regarding.kind ?? "",
      "regarding.namespace": ({ regarding }) => regarding.namespace ?? "",
      "regarding.name": ({ regarding }) => regarding.name ?? "",
      "regarding.uid": ({ regarding }) => regarding.uid ?? "",
      "regarding.apiVersion": ({ regarding }) => regarding.apiVersion ?? "",
      "regarding.resourceVersion": ({ regarding }) => regarding.resourceVersion ?? "",
      "regarding.fieldPath": ({ regarding }) => regarding.fieldPath ?? "",
      reason: ({ reason }) => reason ?? "",
      reportingController: ({ reportingController }) => reportingController ?? "",
      type: ({ type }) => type ?? "",
    },
    storedAs: {
      group: "",
      version: "v1",
      kind: "Event",
      toStored: (event): KubeObject => toCore(event),
      fromStored: (stored) => fromCore(stored as CoreEvent),
    },
    validate: (event) => eventFaults(toCore(event), "reportingController"),
    validateCreate: (event) => newEventFaults(toCore(event)),
    validateUpdate: (event, old) => eventChangeFaults(toCore(event), toCore(old)),
  },
  fields,
)

function toCore(event: Event): CoreEvent {
  const {
    regarding,
    note,
    reportingController = "",
    reportingInstance = "",
    deprecatedSource,
    deprecatedFirstTimestamp,
    deprecatedLastTimestamp,
    deprecatedCount,
    ...same
  } = event
  return {
    ...same,
    apiVersion: "v1",
    kind: "Event",
    involvedObject: regarding,
    reportingComponent: reportingController,
    reportingInstance,
    source: deprecatedSource,
    ...(note === undefined ? {} : { message: note }),
    firstTimestamp: deprecatedFirstTimestamp ?? null,
    lastTimestamp: deprecatedLastTimestamp ?? null,
    ...(deprecatedCount === undefined ? {} : { count: deprecatedCount }),
  }
}

function fromCore(event: CoreEvent): Event {
  const {
    involvedObject,
    message: note,
    reportingComponent,
    reportingInstance,
    source,
    firstTimestamp,
    lastTimestamp,
    count,
    series,
    ...same
  } = event
  return {
    ...same,
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    regarding: involvedObject,
    ...(reportingComponent === "" ? {} : { reportingController: reportingComponent }),
    ...(reportingInstance === "" ? {} : { reportingInstance }),
    deprecatedSource: source,
    eventTime: event.eventTime ?? null,
    ...(series === undefined
      ? {}
      : { series: { count: series.count ?? 0, lastObservedTime: series.lastObservedTime ?? null } }),
    ...(note === undefined ? {} : { note }),
    deprecatedFirstTimestamp: firstTimestamp ?? null,
    deprecatedLastTimestamp: lastTimestamp ?? null,
    ...(count === undefined ? {} : { deprecatedCount: count }),
  }
}
