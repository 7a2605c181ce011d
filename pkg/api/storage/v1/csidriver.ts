import { deepEqual } from "../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { at, duplicate, invalidValue, notSupported } from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"

/**
 * Source: k8s.io/api storage/v1/types.go, pkg/apis/storage/v1/defaults.go, ValidateCSIDriver in
 * pkg/apis/storage/validation.
 */

export const TokenRequest = message("storage.v1.TokenRequest", "A service account token that a driver needs.", {
  audience: f.string(1, "Audience of the token.").default("").printZero(),
  expirationSeconds: f.int64(2, "Seconds for which the token is to be valid.").pointer(),
})
export interface TokenRequest extends ObjectOf<typeof TokenRequest> {}

export const CSIDriverSpec = message("storage.v1.CSIDriverSpec", "The capabilities and requirements of a driver.", {
  attachRequired: f.bool(1, "Whether volumes are attached before they are mounted.").default(true).pointer(),
  podInfoOnMount: f.bool(2, "Whether the driver is told of the pod.").default(false).pointer(),
  volumeLifecycleModes: f
    .list(3, e.string, "Kinds of volumes it can make.")
    .listSet()
    .default(["Persistent"])
    .enum("Persistent", "Ephemeral")
    .ownRule(),
  storageCapacity: f.bool(4, "Whether the scheduler looks at free capacity.").default(false).pointer(),
  fsGroupPolicy: f
    .string(5, "Whether ownership of volumes may be changed.")
    .default("ReadWriteOnceWithFSType")
    .enum("ReadWriteOnceWithFSType", "File", "None")
    .pointer(),
  tokenRequests: f.list(6, TokenRequest, "Tokens of the pod's service account that the driver needs.").atomic(),
  requiresRepublish: f
    .bool(7, "Whether the driver is called again and again, to renew what it mounted.")
    .default(false)
    .pointer(),
  seLinuxMount: f.bool(8, "Whether volumes can be mounted with an SELinux label.").default(false).pointer(),
  nodeAllocatableUpdatePeriodSeconds: f
    .int64(9, "Seconds between updates of how many volumes a node can have.")
    .pointer(),
  serviceAccountTokenInSecrets: f.bool(10, "Whether tokens are passed as secrets.").pointer(),
  preventPodSchedulingIfMissing: f
    .bool(11, "Whether pods with such volumes stay off nodes without the driver.")
    .pointer()
    .disabled(),
})
export interface CSIDriverSpec extends ObjectOf<typeof CSIDriverSpec> {}

const fields = {
  spec: f.message(2, CSIDriverSpec, "Capabilities and requirements of the driver.").required(),
}
export interface CSIDriver extends ObjectFor<typeof fields> {}

export const CSIDriver = defineResource(
  {
    group: "storage.k8s.io",
    version: "v1",
    kind: "CSIDriver",
    plural: "csidrivers",
    scope: "Cluster",
    doc: "A driver of volumes that runs in the cluster.",
    generation: { first: "sent" },
    columns: [
      {
        name: "AttachRequired",
        type: "boolean",
        doc: "Whether volumes are attached.",
        value: ({ spec }) => spec.attachRequired,
      },
      {
        name: "PodInfoOnMount",
        type: "boolean",
        doc: "Whether the driver receives facts of the pod with each mount.",
        value: ({ spec }) => spec.podInfoOnMount,
      },
      {
        name: "StorageCapacity",
        type: "boolean",
        doc: "Whether the scheduler looks at free capacity.",
        value: ({ spec }) => spec.storageCapacity,
      },
      {
        name: "TokenRequests",
        type: "string",
        doc: "Tokens of the pod's service account that the driver needs.",
        value: ({ spec }) => (spec.tokenRequests ?? []).map(({ audience }) => audience).join(",") || "<unset>",
      },
      {
        name: "RequiresRepublish",
        type: "boolean",
        doc: "Whether a volume is published again from time to time.",
        value: ({ spec }) => spec.requiresRepublish,
      },
      {
        name: "Modes",
        type: "string",
        doc: "Supported lifecycle modes of volumes.",
        value: ({ spec }) => spec.volumeLifecycleModes.join(","),
      },
    ],
    allowUnconditionalUpdate: false,
    returnsDeletedObject: true,
    warnings: ({ spec }, old) =>
      (spec.tokenRequests ?? []).length > 0 &&
      spec.serviceAccountTokenInSecrets === undefined &&
      !deepEqual(spec.tokenRequests, old?.spec.tokenRequests)
        ? [
            "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to " +
              "prevent possible logging of tokens in volume attributes",
          ]
        : [],
    validateSpec: ({ spec }) => driverFaults(spec),
    validateSpecUpdate: ({ spec }, old) => [
      ...(spec.attachRequired === old.spec.attachRequired
        ? []
        : [invalidValue("spec.attachedRequired", spec.attachRequired, "field is immutable")]),
      ...(deepEqual(spec.volumeLifecycleModes, old.spec.volumeLifecycleModes)
        ? []
        : [invalidValue("spec.volumeLifecycleModes", spec.volumeLifecycleModes, "field is immutable")]),
    ],
  },
  fields,
)

const MODES: readonly string[] = ["Persistent", "Ephemeral"]

function driverFaults(spec: CSIDriverSpec): readonly Cause[] {
  const { tokenRequests = [], volumeLifecycleModes, nodeAllocatableUpdatePeriodSeconds: period } = spec
  const causes: Cause[] = [...tokenFaults(tokenRequests)]
  for (const mode of volumeLifecycleModes)
    if (!MODES.includes(mode)) causes.push(notSupported("spec.volumeLifecycleModes", mode, MODES))
  if (period !== undefined && period < 10)
    causes.push(
      invalidValue("spec.nodeAllocatableUpdatePeriodSeconds", period, "must be greater than or equal to 10 seconds"),
    )
  if (spec.serviceAccountTokenInSecrets !== undefined && tokenRequests.length === 0)
    causes.push(
      invalidValue(
        "spec.serviceAccountTokenInSecrets",
        spec.serviceAccountTokenInSecrets,
        "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
      ),
    )
  return causes
}

const tokenFaults = (requests: readonly TokenRequest[]): readonly Cause[] =>
  requests.flatMap(({ audience, expirationSeconds }, i) => {
    const here = at("spec.tokenRequests", i)
    const causes: Cause[] = []
    if (requests.findIndex((other) => other.audience === audience) !== i)
      return [duplicate(at(here, "audience"), audience)]
    if (expirationSeconds !== undefined && expirationSeconds < 600)
      causes.push(
        invalidValue(
          at(here, "expirationSeconds"),
          expirationSeconds,
          "may not specify a duration less than 10 minutes",
        ),
      )
    if (expirationSeconds !== undefined && expirationSeconds > 2 ** 32)
      causes.push(
        invalidValue(
          at(here, "expirationSeconds"),
          expirationSeconds,
          "may not specify a duration larger than 2^32 seconds",
        ),
      )
    return causes
  })
