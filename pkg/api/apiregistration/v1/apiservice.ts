import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  invalidValue,
  invalidValues,
  notSupported,
  required,
} from "../../../apimachinery/validation/field-errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import {
  isDNS1035Label,
  isDNS1123Subdomain,
  isPathSegmentName,
  isPortNumber,
} from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { pushAll } from "../../../lists/push-all.ts"

/**
 * Source: kube-aggregator pkg/apis/apiregistration/{v1/types.go,validation/validation.go}, pkg/registry/apiservice.
 */

const named = (name: string): string => `io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.${name}`

export const ServiceReference = message(named("ServiceReference"), "A Service with an API server behind it.", {
  namespace: f.string(1, "Namespace of the Service."),
  name: f.string(2, "Name of the Service."),
  port: f.int32(3, "Port of the Service, on which it speaks TLS; 443 unless given.").default(443).pointer(),
})
export interface ServiceReference extends ObjectOf<typeof ServiceReference> {}

export const APIServiceSpec = message(named("APIServiceSpec"), "Where a version of an API group is served.", {
  service: f.message(1, ServiceReference, "The Service that serves it; absent where this server does so itself."),
  group: f.string(2, "Name of the group; empty for the core group."),
  version: f.string(3, "Name of the version, such as v1."),
  insecureSkipTLSVerify: f.bool(4, "Takes any certificate of the server. Better give a caBundle."),
  caBundle: f.bytes(5, "PEM certificates of those who may sign the server's; the system's unless given.").atomic(),
  groupPriorityMinimum: f
    .int32(7, "From 1 to 20000: groups with a higher number come first in discovery.")
    .required()
    .ownRule()
    .printZero(),
  versionPriority: f
    .int32(8, "From 1 to 1000: versions of the group with a higher number come first.")
    .required()
    .ownRule()
    .printZero(),
})
export interface APIServiceSpec extends ObjectOf<typeof APIServiceSpec> {}

export const APIServiceCondition = message(named("APIServiceCondition"), "One aspect of an APIService's state.", {
  type: f.string(1, "Available.").required().ownRule().printZero(),
  status: f.string(2, "True, False or Unknown.").required().ownRule().printZero(),
  lastTransitionTime: f.time(3, "When the status last changed.").orNull(),
  reason: f.string(4, "Why, in a word."),
  message: f.string(5, "Why, for people."),
})
export interface APIServiceCondition extends ObjectOf<typeof APIServiceCondition> {}

export const APIServiceStatus = message(named("APIServiceStatus"), "What was found of an API server.", {
  conditions: f.list(1, APIServiceCondition, "Present state, aspect by aspect.").listMap("type").merge("type"),
})
export interface APIServiceStatus extends ObjectOf<typeof APIServiceStatus> {}

const fields = {
  spec: f.message(2, APIServiceSpec, "Where the version is served.").always(),
  status: f.message(3, APIServiceStatus, "What was found of the server.").always(),
}
export interface APIService extends ObjectFor<typeof fields> {}

export const APIService = defineResource(
  {
    group: "apiregistration.k8s.io",
    version: "v1",
    kind: "APIService",
    plural: "apiservices",
    categories: ["api-extensions"],
    scope: "Cluster",
    schemaName: named("APIService"),
    doc: "A version of an API group, and the server behind it. It is named <version>.<group>.",
    validateName: isPathSegmentName,
    allowUnconditionalUpdate: false,
    subresources: { status: { validateUpdate: ({ status }) => statusFaults(status) } },
    columns: [
      {
        name: "Service",
        type: "string",
        doc: "The Service that serves the version.",
        value: ({ spec: { service } }) =>
          service === undefined ? "Local" : `${service.namespace ?? ""}/${service.name ?? ""}`,
      },
      {
        name: "Available",
        type: "string",
        doc: "Whether the server of the version is available.",
        value: availabilityText,
      },
    ],
    prepareForCreate: (service, { now }) =>
      service.spec.service === undefined ? { ...service, status: { conditions: [localCondition(now)] } } : service,
    validate: ({ metadata: { name = "" }, spec }) => [...nameFaults(name, spec), ...specFaults(spec)],
  },
  fields,
)

/** Returns the condition of APIServices of this server. `now` is RFC 3339. */
export const localCondition = (now: string): APIServiceCondition => ({
  type: "Available",
  status: "True",
  lastTransitionTime: now,
  reason: "Local",
  message: "Local APIServices are always available",
})

/** Whether requests can be sent to the server of an APIService. */
export const isAvailable = ({ status }: APIService): boolean => availability(status)?.status === "True"

export const availability = ({ conditions = [] }: APIServiceStatus): APIServiceCondition | undefined =>
  conditions.find(({ type }) => type === "Available")

function availabilityText({ status }: APIService): string {
  const condition = availability(status)
  if (condition === undefined) return "Unknown"
  const { status: is, reason = "" } = condition
  return is === "True" || reason === "" ? is : `${is} (${reason})`
}

function nameFaults(name: string, { group = "", version = "" }: APIServiceSpec): readonly Cause[] {
  const wanted = `${version}.${group}`
  // Faults of the name itself were reported before.
  return name === wanted || name === "" || isPathSegmentName(name) !== undefined
    ? []
    : [invalidValue("metadata.name", name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(wanted)}`)]
}

function specFaults(spec: APIServiceSpec): readonly Cause[] {
  const { group = "", version = "", groupPriorityMinimum, versionPriority, service } = spec
  const path = (field: string) => `spec.${field}`
  const causes: Cause[] = []
  if (group === "" && version !== "v1")
    causes.push(required(path("group"), "only v1 may have an empty group and it better be legacy kube"))
  if (group !== "") pushAll(causes, invalidValues(path("group"), group, isDNS1123Subdomain(group)))
  pushAll(causes, invalidValues(path("version"), version, isDNS1035Label(version)))
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > 20_000)
    causes.push(
      invalidValue(path("groupPriorityMinimum"), groupPriorityMinimum, "must be positive and less than 20000"),
    )
  if (versionPriority <= 0 || versionPriority > 1000)
    causes.push(invalidValue(path("versionPriority"), versionPriority, "must be positive and less than 1000"))
  return [...causes, ...(service === undefined ? localFaults(spec) : serviceFaults(spec, service))]
}

function localFaults({ caBundle = "", insecureSkipTLSVerify = false }: APIServiceSpec): readonly Cause[] {
  const causes: Cause[] = []
  if (caBundle !== "") {
    const bytes = Buffer.from(caBundle, "base64").length
    causes.push(invalidValue("spec.caBundle", `${bytes} bytes`, "local APIServices may not have a caBundle"))
  }
  if (insecureSkipTLSVerify)
    causes.push(
      invalidValue("spec.insecureSkipTLSVerify", true, "local APIServices may not have insecureSkipTLSVerify"),
    )
  return causes
}

function serviceFaults(
  { caBundle = "", insecureSkipTLSVerify = false }: APIServiceSpec,
  { namespace = "", name = "", port }: ServiceReference,
): readonly Cause[] {
  const path = (field: string) => `spec.service.${field}`
  const causes: Cause[] = []
  if (namespace === "") causes.push(required(path("namespace")))
  if (name === "") causes.push(required(path("name")))
  const problem = isPortNumber(port)
  if (problem !== undefined) causes.push(invalidValue(path("port"), port, `port is not valid: ${problem}`))
  if (insecureSkipTLSVerify && caBundle !== "")
    causes.push(invalidValue("spec.insecureSkipTLSVerify", true, "may not be true if caBundle is present"))
  return causes
}

const STATUSES: readonly string[] = ["True", "False", "Unknown"]

const statusFaults = ({ conditions = [] }: APIServiceStatus): readonly Cause[] =>
  conditions.flatMap(({ status }, i) =>
    STATUSES.includes(status) ? [] : [notSupported(at("status.conditions", i, "status"), status, STATUSES)],
  )
