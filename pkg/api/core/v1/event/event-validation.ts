import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import { at, invalidValue, invalidValues, required } from "../../../../apimachinery/validation/field-errors.ts"
import { goForm } from "../../../../apimachinery/go/go-form.ts"
import type { ObjectMeta } from "../../../../apimachinery/meta.ts"
import { isDNS1123Subdomain, isQualifiedName } from "../../../../apimachinery/validation/names.ts"
import { ObjectReference } from "../reference.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/** The fields of a core Event that its rules read. */
interface EventLike {
  readonly metadata: ObjectMeta
  readonly involvedObject: { readonly namespace?: string | undefined }
  readonly eventTime?: string | null | undefined
  readonly firstTimestamp?: string | null | undefined
  readonly lastTimestamp?: string | null | undefined
  readonly count?: number | undefined
  readonly source: { readonly component?: string | undefined; readonly host?: string | undefined }
  readonly series?:
    | { readonly count?: number | undefined; readonly lastObservedTime?: string | null | undefined }
    | undefined
  readonly related?: object | undefined
  readonly reportingComponent: string
  readonly reportingInstance: string
  readonly action?: string | undefined
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly type?: string | undefined
}

/**
 * Returns the faults of an event in either API group. Its namespace must be that of the object it is about, or
 * `default` for cluster-wide objects. Events with an eventTime are of the newer form, whose rules are stricter.
 * `reporter` is the form's name of the field for the controller. Source: legacyValidateEvent in
 * pkg/apis/core/validation/events.go.
 */
export function eventFaults(event: EventLike, reporter = "reportingComponent"): readonly Cause[] {
  const { namespace = "" } = event.metadata
  const about = event.involvedObject.namespace ?? ""
  const places = about !== "" ? [about] : event.eventTime ? ["default", "kube-system"] : ["", "default"]
  // In the newer form an event about a namespaced object may be in any namespace.
  const misplaced = (about === "" || !event.eventTime) && !places.includes(namespace)
  return [
    ...(misplaced ? [invalidValue("involvedObject.namespace", about, "does not match event.namespace")] : []),
    ...(event.eventTime ? newFormFaults(event, reporter) : []),
    ...invalidValues("namespace", namespace, isDNS1123Subdomain(namespace)),
  ]
}

function newFormFaults(event: EventLike, reporter: string): readonly Cause[] {
  const { reportingComponent, reportingInstance, action = "", reason = "", message = "" } = event
  const causes: Cause[] = []
  const long = (field: string, text: string, most: number) => {
    if (Buffer.byteLength(text) > most) causes.push(invalidValue(field, "", `can have at most ${most} characters`))
  }
  if (reportingComponent === "") causes.push(required(reporter))
  pushAll(causes, invalidValues(reporter, reportingComponent, isQualifiedName(reportingComponent)))
  if (reportingInstance === "") causes.push(required("reportingInstance"))
  long("reportingInstance", reportingInstance, 128)
  if (action === "") causes.push(required("action"))
  long("action", action, 128)
  if (reason === "") causes.push(required("reason"))
  long("reason", reason, 128)
  long("message", message, 1024)
  return causes
}

/**
 * Returns the faults that `events.k8s.io/v1` finds only in new events. Fields have the names of the older form. Source:
 * ValidateEventCreate.
 */
export function newEventFaults(event: EventLike): readonly Cause[] {
  const { eventTime, type = "", source } = event
  const unset = (field: string, given: boolean) => (given ? [invalidValue(field, "", "needs to be unset")] : [])
  return [
    ...seriesFaults(event),
    ...(eventTime ? [] : [required("eventTime")]),
    ...(type === "Normal" || type === "Warning" ? [] : [invalidValue("type", "", `has invalid value: ${type}`)]),
    ...unset("firstTimestamp", Boolean(event.firstTimestamp)),
    ...unset("lastTimestamp", Boolean(event.lastTimestamp)),
    ...unset("count", (event.count ?? 0) !== 0),
    ...unset("source", Boolean(source.component) || Boolean(source.host)),
  ]
}

function seriesFaults({ series }: EventLike): readonly Cause[] {
  if (series === undefined) return []
  return [
    ...((series.count ?? 0) < 2 ? [invalidValue("series.count", "", "should be at least 2")] : []),
    ...(series.lastObservedTime ? [] : [required("series.lastObservedTime")]),
  ]
}

/** The fields that cannot change, in upstream's order; upstream checks the reason twice. */
const FIXED = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  "reason",
  "type",
  "eventTime",
  "action",
  "related",
  "reportingComponent",
  "reportingInstance",
] as const

/**
 * Returns the faults that `events.k8s.io/v1` finds in changes: only the series and the metadata may change. Source:
 * ValidateEventUpdate.
 */
export function eventChangeFaults(event: EventLike, old: EventLike): readonly Cause[] {
  return [
    ...(deepEqual(event.series, old.series) ? [] : seriesFaults(event)),
    ...FIXED.flatMap((field) =>
      deepEqual(event[field] ?? undefined, old[field] ?? undefined)
        ? []
        : [
            invalidValue(
              at("", field === "reportingComponent" ? "reportingController" : field),
              shownField(event, field),
              "field is immutable",
            ),
          ],
    ),
  ]
}

/** Returns the value of a field for messages: null for missing times and objects, otherwise an empty string. */
function shownField(event: EventLike, field: (typeof FIXED)[number]): unknown {
  const value = event[field]
  if (field === "involvedObject" || field === "related")
    return value === undefined ? null : goForm(ObjectReference, value as object)
  if (field === "eventTime" || field === "firstTimestamp" || field === "lastTimestamp") return value ?? null
  return field === "count" ? (value ?? 0) : (value ?? "")
}
