import type { Cause } from "../../../apimachinery/errors.ts"
import { invalidValue, invalidValues, required } from "../../../apimachinery/field-errors.ts"
import type { ObjectMeta } from "../../../apimachinery/meta.ts"
import { isDNS1123Subdomain, isQualifiedName } from "../../../apimachinery/names.ts"

/** What a core Event has that its rules look at. */
interface EventLike {
  readonly metadata: ObjectMeta
  readonly involvedObject: { readonly namespace?: string | undefined }
  readonly eventTime?: string | null | undefined
  readonly reportingComponent: string
  readonly reportingInstance: string
  readonly action?: string | undefined
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly type?: string | undefined
}

/**
 * Rules of an event. The namespace must be that of what it is about (`default` or any system namespace for cluster-wide objects); events with an
 * eventTime are of the newer form and stricter. Source: pkg/apis/core/validation/events.go (legacyValidateEvent and ValidateEventCreate).
 */
export function eventFaults(event: EventLike): readonly Cause[] {
  const causes: Cause[] = []
  const { namespace = "" } = event.metadata
  const about = event.involvedObject.namespace ?? ""
  if (about === "" ? namespace !== "default" && namespace !== "kube-system" && namespace !== "" : about !== namespace)
    causes.push(invalidValue("involvedObject.namespace", about, "does not match event.namespace"))
  if (namespace !== "") causes.push(...invalidValues("namespace", namespace, isDNS1123Subdomain(namespace)))
  if (event.eventTime) causes.push(...newFormFaults(event))
  return causes
}

function newFormFaults({
  reportingComponent,
  reportingInstance,
  action = "",
  reason = "",
  message = "",
  type = "",
}: EventLike): readonly Cause[] {
  const causes: Cause[] = []
  if (reportingComponent === "") causes.push(required("reportingController"))
  causes.push(...invalidValues("reportingController", reportingComponent, isQualifiedName(reportingComponent)))
  if (reportingInstance === "") causes.push(required("reportingInstance"))
  if (reportingInstance.length > 128)
    causes.push(invalidValue("reportingInstance", "", "can have at most 128 characters"))
  if (action === "") causes.push(required("action"))
  if (action.length > 128) causes.push(invalidValue("action", "", "can have at most 128 characters"))
  if (reason === "") causes.push(required("reason"))
  if (reason.length > 128) causes.push(invalidValue("reason", "", "can have at most 128 characters"))
  if (message.length > 1024) causes.push(invalidValue("message", "", "can have at most 1024 characters"))
  if (type !== "Normal" && type !== "Warning") causes.push(invalidValue("type", type, ""))
  return causes
}
