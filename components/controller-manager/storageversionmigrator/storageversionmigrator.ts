import {
  FAILED,
  isMigration,
  RUNNING,
  StorageVersionMigration,
  SUCCEEDED,
} from "../../../pkg/api/storagemigration/v1beta1/storageversionmigration.ts"
import { isConflict, isNotFound, isReason } from "../../../pkg/apimachinery/errors.ts"
import type { Condition } from "../../../pkg/apimachinery/meta.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import { exactKey } from "../../../pkg/cache/exact-key.ts"
import type { Index, Informers } from "../../../pkg/client/informer.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import {
  defineController,
  watching,
  type Controller,
  type ReconcileContext,
} from "../../../pkg/controller/controller.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { beginDefinition, finishDefinition } from "./definition-status.ts"

export const MIGRATOR = "storage-version-migrator-controller"

/** How long a kind may be missing that a migration names: its definition may be new. */
const MISSING_MS = 60_000
const LOOK_AGAIN_MS = 5000
/** Objects of one list. */
const PAGE = 500
const NEEDED = ["list", "patch", "update"] as const
const PASSING = ["TooManyRequests", "ServiceUnavailable", "InternalError", "Timeout", "ServerTimeout"] as const

/**
 * Writes all objects of a kind again, so that they are stored in the present version, one migration of a kind at a
 * time; then the other versions leave the status of a custom kind's definition. Differs from upstream, which has three
 * controllers for this and reads the objects from the garbage collector's cache: here one lists them. Source:
 * pkg/controller/storageversionmigrator.
 */
export const storageVersionMigrator = (resources: () => readonly Resource[]): Controller<StorageVersionMigration> =>
  defineController<StorageVersionMigration>({
    name: MIGRATOR,
    reconciles: StorageVersionMigration,
    watches: [
      watching(StorageVersionMigration, (changed, { informers }) => {
        const next = nextOf(changed, informers)
        return next === undefined ? [] : [next.metadata.name!]
      }),
    ],
    async reconcile(key, context) {
      const all = context.informers.of(StorageVersionMigration)
      const migration = all.get(key)
      if (migration === undefined || migration.metadata.deletionTimestamp !== undefined) return
      if (isOver(migration)) return isMigration(migration.status, RUNNING) ? finish(migration, context) : undefined
      if (!isMigration(migration.status, RUNNING)) {
        if (nextOf(migration, context.informers)?.metadata.name !== migration.metadata.name) return
        await beginDefinition(migration, context)
        await report(migration, context, RUNNING, "MigrationRunning", "The migration is running")
        return
      }
      const { group, resource: plural } = migration.spec.resource
      const resource = resources().find((one) => one.group === group && one.plural === plural)
      if (resource === undefined) {
        const since = Date.parse(migration.metadata.creationTimestamp ?? "")
        if (context.clock.now() < since + MISSING_MS) return { requeueAfter: LOOK_AGAIN_MS }
        return fail(migration, context, "resource does not exist in discovery")
      }
      if (NEEDED.some((verb) => !resource.verbs.includes(verb)))
        return fail(
          migration,
          context,
          `resource "${plural}" does not support discovery operations: [update patch list]`,
        )
      const { resourceVersion = "" } = migration.status
      if (resourceVersion === "") {
        const { metadata } = await context.client.list(resource, { limit: 1 })
        const status = { ...migration.status, resourceVersion: metadata.resourceVersion ?? "" }
        await context.client.updateStatus(StorageVersionMigration, { ...migration, status })
        return
      }
      const problem = await migrate(resource, Number(resourceVersion), context)
      if (problem !== undefined) return fail(migration, context, `migration encountered unhandled error: ${problem}`)
      await report(migration, context, SUCCEEDED, "StorageVersionMigrationSucceeded", "")
    },
  })

const isOver = ({ status }: StorageVersionMigration): boolean =>
  isMigration(status, SUCCEEDED) || isMigration(status, FAILED)

const kindOf = ({ spec: { resource } }: StorageVersionMigration): string =>
  exactKey([resource.group, resource.resource])

/** What is being deleted keeps nobody waiting: its finalizers may stay for ever. */
const isDeleted = ({ metadata }: StorageVersionMigration): boolean => metadata.deletionTimestamp !== undefined

const runningByKind: Index<StorageVersionMigration> = {
  name: "storageversionmigrator/running",
  of: (migration) => (isMigration(migration.status, RUNNING) && !isDeleted(migration) ? [kindOf(migration)] : []),
}
const waitingByKind: Index<StorageVersionMigration> = {
  name: "storageversionmigrator/waiting",
  of: (migration) =>
    isMigration(migration.status, RUNNING) || isOver(migration) || isDeleted(migration) ? [] : [kindOf(migration)],
}

/**
 * Returns the migration that is to run next of those of the same kind, the one that was seen first; undefined while one
 * runs. There may be thousands, so a change concerns no others than this one.
 */
function nextOf(migration: StorageVersionMigration, informers: Informers): StorageVersionMigration | undefined {
  const all = informers.of(StorageVersionMigration)
  const kind = kindOf(migration)
  return all.by(runningByKind, kind).length > 0 ? undefined : all.by(waitingByKind, kind)[0]
}

/** Writes the objects that are older than a revision. Resolves to why one cannot be written. */
async function migrate(
  resource: Resource,
  revision: number,
  { client }: ReconcileContext,
): Promise<string | undefined> {
  let next: string | undefined
  do {
    const { items, metadata } = await client.list(resource, {
      limit: PAGE,
      ...(next === undefined ? {} : { continue: next }),
    })
    for (const { metadata: of } of items) {
      if (Number(of.resourceVersion) > revision) continue
      const { apiVersion, kind } = resource
      // With both, an object that was changed or made again meanwhile is a conflict: it needs no migration.
      const body = { apiVersion, kind, metadata: { uid: of.uid, resourceVersion: of.resourceVersion } }
      try {
        await client.patch(resource, of, { type: "apply", body }, { fieldManager: MIGRATOR })
      } catch (err) {
        if (isConflict(err) || isNotFound(err)) continue
        if (isReason(err, ...PASSING)) throw err
        return errorMessage(err)
      }
    }
    next = metadata.continue === "" ? undefined : metadata.continue
  } while (next !== undefined)
  return undefined
}

const fail = (migration: StorageVersionMigration, context: ReconcileContext, why: string): Promise<void> =>
  report(migration, context, FAILED, "StorageVersionMigrationFailed", why)

/** Ends a migration that has succeeded or failed. */
async function finish(migration: StorageVersionMigration, context: ReconcileContext): Promise<void> {
  await finishDefinition(migration, context, isMigration(migration.status, SUCCEEDED))
  const conditions = (migration.status.conditions ?? []).map((condition) =>
    condition.type === RUNNING
      ? {
          ...condition,
          status: "False",
          reason: "MigrationCompleted",
          message: "Migration completed",
          lastTransitionTime: timestamp(context.clock),
        }
      : condition,
  )
  const status = { ...migration.status, conditions }
  await context.client.updateStatus(StorageVersionMigration, { ...migration, status })
}

async function report(
  migration: StorageVersionMigration,
  { client, clock }: ReconcileContext,
  type: string,
  reason: string,
  message: string,
): Promise<void> {
  const condition: Condition = { type, status: "True", reason, message, lastTransitionTime: timestamp(clock) }
  const conditions = [...(migration.status.conditions ?? []), condition]
  await client.updateStatus(StorageVersionMigration, { ...migration, status: { ...migration.status, conditions } })
}
