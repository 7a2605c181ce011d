import { CustomResourceDefinition } from "../../../pkg/api/apiextensions/v1/customresourcedefinition.ts"
import type { StorageVersionMigration } from "../../../pkg/api/storagemigration/v1beta1/storageversionmigration.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import type { ReconcileContext } from "../../../pkg/controller/controller.ts"

/** What a migration says in the status of a definition. Source: storageversionmigrator/migrationrunner.go. */

const CONDITION = "StorageMigrating"
const MANAGER = "migration-runner-controller"

async function definitionOf(
  { spec: { resource } }: StorageVersionMigration,
  { client }: ReconcileContext,
): Promise<CustomResourceDefinition | undefined> {
  try {
    return await client.get(CustomResourceDefinition, { name: `${resource.resource}.${resource.group}` })
  } catch (err) {
    if (isNotFound(err)) return undefined
    throw err
  }
}

/** Says that the objects of a custom kind are being migrated. */
export async function beginDefinition(migration: StorageVersionMigration, context: ReconcileContext): Promise<void> {
  const definition = await definitionOf(migration, context)
  if (definition === undefined) return
  const message = `Migration ${migration.metadata.name ?? ""} is running`
  await apply(definition, context, { status: "True", reason: "MigrationRunning", message })
}

/**
 * Says how a migration has ended. Where the definition has not changed since it began, its objects are in the present
 * version only.
 */
export async function finishDefinition(
  migration: StorageVersionMigration,
  context: ReconcileContext,
  hasSucceeded: boolean,
): Promise<void> {
  const definition = await definitionOf(migration, context)
  if (definition === undefined) return
  const begun = definition.status.conditions?.find(({ type }) => type === CONDITION)
  const isSame = begun?.observedGeneration === definition.metadata.generation
  if (!hasSucceeded)
    return apply(definition, context, {
      status: "False",
      reason: "MigrationFailed",
      message: "The migration has failed",
    })
  const outcome = isSame
    ? " and the stored versions have been updated"
    : " but the stored versions have not been updated due to a generation mismatch"
  const message = `The migration has succeeded${outcome}`
  const stored = definition.spec.versions.find(({ storage }) => storage)?.name
  await apply(
    definition,
    context,
    { status: "False", reason: "MigrationSucceeded", message },
    isSame && stored !== undefined ? [stored] : undefined,
  )
}

async function apply(
  { metadata: { name = "", resourceVersion, generation } }: CustomResourceDefinition,
  { client, clock }: ReconcileContext,
  condition: { readonly status: "True" | "False"; readonly reason: string; readonly message: string },
  storedVersions?: readonly string[],
): Promise<void> {
  const { apiVersion, kind } = CustomResourceDefinition
  const lastTransitionTime = timestamp(clock)
  const body = {
    apiVersion,
    kind,
    metadata: { name, resourceVersion },
    status: {
      conditions: [{ type: CONDITION, ...condition, lastTransitionTime, observedGeneration: generation }],
      ...(storedVersions === undefined ? {} : { storedVersions }),
    },
  }
  await client.patch(
    CustomResourceDefinition,
    { name },
    { type: "apply", body },
    { subresource: "status", fieldManager: MANAGER, force: true },
  )
}
