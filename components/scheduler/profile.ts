import type { Clock } from "../../pkg/clock/clock.ts"
import type { CycleContext, PointTimer } from "./schedule-one.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import type { ComponentContext } from "../../pkg/component/component.ts"
import { createSeriesRecorder } from "../../pkg/controller/event-series.ts"
import { BindingCycle } from "./binding-cycle.ts"
import type { Cache } from "./cache.ts"
import { DEFAULT_ARGS } from "./config/default-args.ts"
import type { ProfilePlugins } from "./config/plugin-sets.ts"
import { pluginsIn } from "./config/profile-plugins.ts"
import type { ProfileSettings, SchedulerSettings } from "./config/scheduler-settings.ts"
import { DeviceClaims } from "./dynamicresources/device-objects.ts"
import type { External } from "./external/external.ts"
import type { Plugin } from "./framework.ts"
import { NodeVerdicts } from "./node-verdicts.ts"
import type { Nominations } from "./nominations.ts"
import type { SchedulerObserver } from "./observer.ts"
import { defaultPlugins, pluginsOf, type PluginObjects } from "./plugins/plugins.ts"
import type { SchedulingQueue } from "./queue.ts"
import type { SchedulingContext } from "./scheduling-context.ts"
import { volumeObjects } from "./volumebinding/volume-objects.ts"

/** A scheduler that pods name in `schedulerName`. All of one process share nodes, queue and nominations. */
export interface Profile {
  readonly name: string
  readonly context: SchedulingContext
  readonly binding: BindingCycle
  /** With what the queue knows of externals. */
  readonly plugins: readonly Plugin[]
  /** Plugins of one's own and extenders, in the order in which they are asked. */
  readonly externals: readonly External[]
  /** Which plugins run at which extension points; undefined for the defaults, without a configuration. */
  readonly configured: ProfilePlugins | undefined
}

/** What the profiles of a scheduler share. */
export interface Shared {
  readonly cache: Cache
  readonly nominations: Nominations
  readonly queue: SchedulingQueue
  readonly observer: SchedulerObserver | undefined
  readonly prefers: CycleContext["prefers"]
  /** The machine that Events name. */
  readonly host: string | undefined
  /** Returns the plugins of one's own that the profile has, and the extenders. */
  externalsOf(profile: ProfileSettings): readonly External[]
  isRunning(): boolean
}

/** The name of the one profile without a configuration. */
export const DEFAULT_NAME = "default-scheduler"

/** Creates the profiles of the settings, by name; those by default without any. */
export function createProfiles(
  context: ComponentContext,
  shared: Shared,
  settings: SchedulerSettings | undefined,
): ReadonlyMap<string, Profile> {
  const { informers } = context
  const objects: PluginObjects = {
    images: shared.cache.images,
    namespaceLabels: (name) => informers.of(Namespace).get(name)?.metadata.labels,
    volumes: volumeObjects(informers),
    // One for all profiles: it knows which devices were given away and not written yet.
    devices: new DeviceClaims(informers),
  }
  const ignored = (settings?.extenders ?? [])
    .flatMap(({ managedResources = [] }) => managedResources)
    .filter(({ ignoredByScheduler }) => ignoredByScheduler)
    .map(({ name }) => name)
  const profiles: readonly (ProfileSettings | undefined)[] = settings?.profiles ?? [undefined]
  return new Map(
    profiles
      .map((profile) => createProfile(context, shared, objects, profile, ignored))
      .map((profile) => [profile.name, profile]),
  )
}

const pointTimer = (observer: SchedulerObserver, clock: Clock, profile: string): PointTimer => ({
  now: () => clock.monotonic(),
  ended(point, status, began) {
    const now = clock.monotonic()
    observer.point(point, status, now - began, profile)
    return now
  },
})

function createProfile(
  { client, informers, clock, random, log: root }: ComponentContext,
  { cache, nominations, queue, observer, prefers, host = "control-plane", externalsOf, isRunning }: Shared,
  objects: PluginObjects,
  settings: ProfileSettings | undefined,
  ignored: readonly string[],
): Profile {
  const name = settings?.name ?? DEFAULT_NAME
  const log = root.child({ component: "scheduler" })
  const args = settings?.args ?? DEFAULT_ARGS
  const all = defaultPlugins(objects, { clock, random }, args, ignored)
  const plugins = settings === undefined ? all : pluginsIn(all, settings.plugins)
  const preempts = settings === undefined || settings.plugins.enabled.postFilter.includes("DefaultPreemption")
  const externals = settings === undefined ? [] : externalsOf(settings)
  const cycle = {
    cache,
    plugins,
    verdicts: new NodeVerdicts(plugins),
    random,
    prefers,
    nominations,
    percentageOfNodesToScore: settings?.percentageOfNodesToScore ?? 0,
    preemption: preempts ? args.DefaultPreemption : undefined,
    timed: observer === undefined ? undefined : pointTimer(observer, clock, name),
  }
  const events = createSeriesRecorder({ client, clock, log }, name, host)
  const bindsByDefault = settings === undefined || settings.plugins.enabled.bind.includes("DefaultBinder")
  const scheduling = { name, client, informers, clock, log, events, observer, cycle, queue, bindsByDefault, isRunning }
  return {
    name,
    context: scheduling,
    binding: new BindingCycle(scheduling),
    plugins: [...pluginsOf(plugins), ...externals.map(({ queueing }) => queueing)],
    externals,
    configured: settings?.plugins,
  }
}
