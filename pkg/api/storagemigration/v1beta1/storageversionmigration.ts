import type { Cause } from "../../../apimachinery/errors.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { Condition } from "../../../apimachinery/meta.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { conditionFaults } from "../../../apimachinery/validation/conditions.ts"
import { invalidValue, invalidWithoutValue, required } from "../../../apimachinery/validation/field-errors.ts"
import { isDNS1035Label, isDNS1123Subdomain, oneProblem, type Problem } from "../../../apimachinery/validation/names.ts"

/**
 * Source: k8s.io/api storagemigration/v1beta1/types.go, pkg/registry/storagemigration,
 * pkg/apis/storagemigration/validation. Served only where `--runtime-config` and the gate StorageVersionMigrator say
 * so.
 */

export const RUNNING = "Running"
export const SUCCEEDED = "Succeeded"
export const FAILED = "Failed"

const GroupResource = message("io.k8s.apimachinery.pkg.apis.meta.v1.GroupResource", "A kind, in any version.", {
  group: f.string(1, "The group; empty for the core group.").required().ownRule(),
  resource: f.string(2, "The plural name.").required().ownRule(),
})

export const StorageVersionMigrationSpec = message(
  "storagemigration.v1beta1.StorageVersionMigrationSpec",
  "What is migrated. It cannot change.",
  { resource: f.message(1, GroupResource, "The kind whose objects are migrated.").required().ownRule() },
)

export const StorageVersionMigrationStatus = message(
  "storagemigration.v1beta1.StorageVersionMigrationStatus",
  "How far the migration is.",
  {
    conditions: f.list(1, Condition, "Running, Succeeded and Failed.").listMap("type").merge("type"),
    resourceVersion: f.string(2, "Objects that were written later need no migration."),
  },
)
export interface StorageVersionMigrationStatus extends ObjectOf<typeof StorageVersionMigrationStatus> {}

const fields = {
  spec: f.message(2, StorageVersionMigrationSpec, "What is migrated.").always().ownRule(),
  status: f.message(3, StorageVersionMigrationStatus, "How far the migration is.").always().ownRule(),
}
export interface StorageVersionMigration extends ObjectFor<typeof fields> {}

/** Whether a condition is true. */
export const isMigration = ({ conditions = [] }: StorageVersionMigrationStatus, type: string): boolean =>
  conditions.some((condition) => condition.type === type && condition.status === "True")

export const StorageVersionMigration = defineResource(
  {
    group: "storagemigration.k8s.io",
    version: "v1beta1",
    kind: "StorageVersionMigration",
    plural: "storageversionmigrations",
    scope: "Cluster",
    offByDefault: true,
    doc: "Has all objects of a kind written again, in the version in which new ones are stored.",
    upstreamChecks: { wholeMetadata: 1 },
    allowUnconditionalUpdate: false,
    ageColumn: false,
    columns: [
      {
        name: "Resource",
        type: "string",
        doc: "The kind whose objects are migrated.",
        value: ({ spec: { resource } }) =>
          resource.group === "" ? resource.resource : `${resource.resource}.${resource.group}`,
      },
      {
        name: "Status",
        type: "string",
        doc: "How far the migration is.",
        value: ({ status: { conditions = [] } }) =>
          conditions.findLast(({ type, status }) => status === "True" && [RUNNING, FAILED, SUCCEEDED].includes(type))
            ?.type ?? "Unknown",
      },
    ],
    subresources: {
      status: {
        resets: [["metadata"], ["spec"]],
        validateUpdate: ({ status }, old) => statusFaults(status, old.status),
      },
    },
    validate({ spec: { resource } }) {
      const name = "spec.resource.resource"
      return [
        ...(resource.resource === ""
          ? [required(name, "resource is required to be set")]
          : faultsOf(name, resource.resource, isDNS1035Label(resource.resource))),
        ...(resource.group === ""
          ? []
          : faultsOf("spec.resource.group", resource.group, isDNS1123Subdomain(resource.group))),
      ]
    },
    validateUpdate: ({ spec }, old) =>
      deepEqual(spec, old.spec) ? [] : [invalidWithoutValue("spec", "field is immutable")],
  },
  fields,
)

const faultsOf = (field: string, value: string, problem: Problem | undefined): readonly Cause[] =>
  problem === undefined ? [] : [invalidValue(field, value, oneProblem(problem, ","))]

function statusFaults(status: StorageVersionMigrationStatus, old: StorageVersionMigrationStatus): readonly Cause[] {
  const { resourceVersion = "", conditions } = status
  const before = old.resourceVersion ?? ""
  const ofVersion = (why: string) => invalidValue("status.resourceVersion", resourceVersion, why)
  const ofConditions = (why: string) => invalidWithoutValue("status.conditions", why)
  return [
    ...(resourceVersion === "" || /^[1-9]\d*$/.test(resourceVersion)
      ? []
      : [ofVersion(`resource version is not well formed: ${resourceVersion}`)]),
    ...conditionFaults("status.conditions", conditions),
    ...(before !== "" && before !== resourceVersion ? [ofVersion("field is immutable")] : []),
    ...(isMigration(status, SUCCEEDED) && isMigration(status, FAILED)
      ? [ofConditions("Both success and failed conditions cannot be true at the same time")]
      : []),
    ...(isMigration(old, SUCCEEDED) && !isMigration(status, SUCCEEDED)
      ? [ofConditions("Success condition cannot be set to false once it is true")]
      : []),
    ...(isMigration(old, FAILED) && !isMigration(status, FAILED)
      ? [ofConditions("Failed condition cannot be set to false once it is true")]
      : []),
  ]
}
