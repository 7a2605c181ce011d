import { f } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { named } from "./jsonschemaprops.ts"
import { formatWarnings } from "./format-warnings.ts"
import { definitionFaults, statusFaults } from "./validation/definition.ts"
import { nameProblem } from "./validation/names.ts"
import { CustomResourceDefinitionSpec } from "./customresourcedefinitionspec.ts"
import { CustomResourceDefinitionStatus } from "./customresourcedefinitionstatus.ts"

const fields = {
  spec: f.message(2, CustomResourceDefinitionSpec, "The definition of the resource.").always(),
  status: f
    .message(3, CustomResourceDefinitionStatus, "The state of the definition as the server reports it.")
    .always(),
}
export interface CustomResourceDefinition extends ObjectFor<typeof fields> {}

export const CustomResourceDefinition = defineResource(
  {
    group: "apiextensions.k8s.io",
    version: "v1",
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    shortNames: ["crd", "crds"],
    categories: ["api-extensions"],
    scope: "Cluster",
    schemaName: named("CustomResourceDefinition"),
    doc: "A kind of objects that is added to the API.",
    allowUnconditionalUpdate: false,
    upstreamChecks: { ownPreconditions: true },
    generation: { counts: (definition, old) => !deepEqual(definition.spec, old.spec) },
    subresources: { status: { validateUpdate: (definition) => statusFaults(definition.status) } },
    defaults: withStoredVersion,
    prepareForCreate: (definition) => ({
      ...definition,
      status: { ...definition.status, storedVersions: storageVersionsOf(definition, []) },
    }),
    prepareForUpdate: (definition) => {
      const before = definition.status.storedVersions ?? []
      const storedVersions = storageVersionsOf(definition, before)
      return storedVersions === before
        ? definition
        : { ...definition, status: { ...definition.status, storedVersions } }
    },
    validateCreate: (definition) => [...nameProblem(definition), ...definitionFaults(definition, undefined)],
    validateUpdate: (definition, old) => definitionFaults(definition, old),
    warnings: (definition, old) => formatWarnings(definition.spec, old?.spec),
  },
  fields,
)
/** Returns the versions in which objects may be stored, including the current storage version. */
function storageVersionsOf({ spec }: CustomResourceDefinition, before: readonly string[]): readonly string[] {
  const name = spec.versions.find(({ storage }) => storage)?.name
  return name === undefined || before.includes(name) ? before : [...before, name]
}

/** Source: apiextensions-apiserver pkg/apis/apiextensions/v1/defaults.go. */
function withStoredVersion(definition: CustomResourceDefinition): CustomResourceDefinition {
  if ((definition.status.storedVersions ?? []).length > 0) return definition
  const storedVersions = storageVersionsOf(definition, [])
  return storedVersions.length === 0 ? definition : { ...definition, status: { ...definition.status, storedVersions } }
}
