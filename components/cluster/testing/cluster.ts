import { ImageBehaviours, type ImageBehaviour } from "../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { SimulatedRuntime } from "../../kubelet/runtime/simulated/simulated-runtime.ts"
import type { SimulatedContainer } from "../../kubelet/runtime/simulated/containers/container.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { deepFreeze } from "../../../pkg/apimachinery/deep-freeze.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { formatTime } from "../../../pkg/apimachinery/time.ts"
import { sleep, type Clock } from "../../../pkg/clock/clock.ts"
import { seededRandom, type Random } from "../../../pkg/clock/random.ts"
import { realClock } from "../../../pkg/clock/real.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import type { NodeConnector } from "../../../pkg/component/node-connector.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import type { Controller } from "../../../pkg/controller/controller.ts"
import { startController } from "../../../pkg/controller/start.ts"
import { silent } from "../../../pkg/log/log.ts"
import { kubeconfigYaml } from "../../../pkg/pki/kubeconfig.ts"
import { MemoryStorage } from "../../../pkg/storage/memory.ts"
import { applyAll, type ApplyOptions } from "./verbs/apply.ts"
import { boundMemory } from "./bounded-memory.ts"
import { at, callerOf, from, TestClusterError } from "./caller.ts"
import { Driver } from "./time/driver.ts"
import { instant, milliseconds, type Duration } from "./time/duration.ts"
import { orphans, watchRevisions } from "./end-checks.ts"
import { endlessInstant } from "./time/endless.ts"
import { explainPod, type Explanation } from "./history/explain.ts"
import { eventually, type Check, type EventuallyOptions, type Waiting } from "./verbs/eventually.ts"
import { Faults, noSuchNode } from "./faults/faults.ts"
import { historyOf, type HistoryEntry, type HistoryFilter } from "./history/history.ts"
import { addressOf } from "./service-names.ts"
import { checkKind } from "./faults/known-requests.ts"
import { LastSeen } from "./history/last-seen.ts"
import { listOptions, refOf, type Reference, type Selection } from "./verbs/selection.ts"
import { readLogs, type LogsOptions } from "./verbs/logs.ts"
import type { ManifestSource } from "./verbs/manifests.ts"
import { Nodes } from "./nodes/nodes.ts"
import { featuresFrom, nodeSpecs, type ClusterOptions, type NodeOptions, type NodeSpec } from "./options.ts"
import { frozenFrom, type Frozen } from "./own-objects.ts"
import { Assembly } from "./assembly.ts"
import { RequestRules } from "./faults/request-rules.ts"
import { turns } from "./time/turns.ts"
import { defaultSeed, parseSeed, replay } from "./seed.ts"
import { testClient, type TestClient } from "./verbs/test-client.ts"
import { KubectlVerbs, type Acting } from "./verbs/verbs.ts"

const DEFAULT_START = "2026-01-01T00:00:00Z"
/** The range of k3ts server; replaced by a larger one for more nodes than it has pod ranges. */
const CLUSTER_CIDR = "10.42.0.0/16"
const LARGE_CLUSTER_CIDR = "10.128.0.0/9"
const RANGES = 250
const ADMIN = { name: "system:admin", groups: ["system:masters"] }
/** The most turns of the event loop at one instant of virtual time: some two seconds for a loop without end. */
const TURNS = 10_000
const TURNS_OF_NODE = 20

/**
 * Starts a whole cluster in this process: the API server, controllers and scheduler of `k3ts server` over a store in
 * memory, and the real kubelet on each simulated node. No sockets, no files. End it with `stop()` or `await using`.
 *
 *     await using cluster = await startCluster({ nodes: 3 })
 *     await cluster.apply("manifests/nightly.yaml")
 *     await cluster.advance("3d")
 *     expect(await cluster.list(Job)).toHaveLength(3)
 *
 * @throws TestClusterError for an option that makes no sense
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const caller = callerOf()
  return from(caller, async () => {
    const cluster = new Cluster(options)
    await cluster.start(options.preload)
    return cluster
  })
}

/** Where a cluster can be reached from outside of the process. */
export interface Listening {
  readonly url: string
  readonly port: number
  /** The administrator's bearer token. */
  readonly token: string
  readonly kubeconfig: string
}

/**
 * A cluster that a test reads and moves in time. When a method fails, the error shows the test's line that called it.
 */
export class Cluster extends KubectlVerbs implements AsyncDisposable {
  /** Acts as administrator. The objects it returns are shared and must not be changed. */
  readonly client: TestClient
  readonly seed: number
  /** Makes parts of the cluster fail. */
  readonly faults: Faults
  /** How images behave; can be changed at any time for containers that are started later. */
  readonly images: ImageBehaviours
  /** Errors of the test's functions that no call has reported yet. */
  readonly #thrown: Error[] = []
  readonly #clock: Clock
  readonly #random: Random
  readonly #virtual: VirtualClock | undefined
  readonly #driver: Driver
  readonly #seen = new LastSeen()
  readonly #storage: MemoryStorage
  readonly #frozen: Frozen
  readonly #assembly: Assembly
  readonly #rules: RequestRules
  readonly #nodes: Nodes
  readonly #ending = new AbortController()
  readonly #endRevisions: () => readonly string[]
  readonly #stops: (() => unknown)[] = []
  readonly #controllers: boolean
  readonly #specs: readonly NodeSpec[]
  #stopped: Promise<void> | undefined
  #endless = false
  #kubeconfig: string | undefined

  constructor(options: ClusterOptions) {
    super()
    const { clock = "virtual", startTime = DEFAULT_START, history = "all", log = silent, images = {} } = options
    const specs = nodeSpecs(options.nodes)
    if (clock !== "virtual" && clock !== "real")
      throw new TestClusterError(`Cannot use clock: ${JSON.stringify(clock)}: expected "virtual" or "real"`)
    this.seed = options.seed === undefined ? defaultSeed() : parseSeed(options.seed)
    const turn = turns.join()
    this.#virtual =
      clock === "virtual"
        ? new VirtualClock(instant(startTime), { mostTurns: () => this.#mostTurns(), turn: turn.take })
        : undefined
    this.#clock = this.#virtual ?? realClock
    this.#driver = new Driver({
      clock: this.#clock,
      virtual: this.#virtual,
      replay: replay(this.seed),
      moved: turn.pass,
      hindrances: () => this.faults.inWords(),
      endless: (err) => {
        this.#endless = true
        return endlessInstant(err, this.#storage, this.#clock.now(), replay(this.seed))
      },
    })
    const random = (this.#random = seededRandom(this.seed))
    this.#frozen = frozenFrom(options.frozen)
    this.#storage = new MemoryStorage({ clock: this.#clock, frozen: this.#frozen === "all" })
    this.#endRevisions = watchRevisions(this.#storage)
    if (history === "none") boundMemory(this.#storage)
    this.#rules = new RequestRules(this.#clock, () => this.#virtual?.asked())
    this.#controllers = options.components?.controllers !== false
    this.#assembly = new Assembly({
      clock: this.#clock,
      random,
      log,
      storage: this.#storage,
      rules: this.#rules,
      frozen: this.#frozen,
      options,
      features: featuresFrom(options.features),
      signal: this.#ending.signal,
      historyMs: history === "all" || history === "none" ? Infinity : milliseconds(history),
      clusterCidrs: [specs.length <= RANGES ? CLUSTER_CIDR : LARGE_CLUSTER_CIDR],
      nodeMasks: [24],
    })
    this.client = this.#clientAs(ADMIN.name, ADMIN.groups)
    this.images = new ImageBehaviours(images, (failure) => this.#thrown.push(failure))
    this.#nodes = new Nodes({
      assembly: this.#assembly,
      clock: this.#clock,
      driver: this.#driver,
      images: this.images,
      kubelets: options.components?.kubelet !== false,
      client: this.#assembly.clientFor(ADMIN.name, ADMIN.groups),
      signal: this.#ending.signal,
    })
    this.faults = new Faults({
      nodes: this.#nodes.simulated,
      rules: this.#rules,
      driver: this.#driver,
      components: this.#assembly.components,
      signal: this.#ending.signal,
      alive: () => this.#alive(),
      kinds: () => this.#assembly.apiServer.scheme.resources,
      forgetHistory: () => this.#storage.compact(this.#storage.revision),
    })
    this.#specs = specs
  }

  /** Called by `startCluster`. */
  async start(preload: ClusterOptions["preload"]): Promise<void> {
    const { components } = this.#assembly
    await components.apiserver.start()
    const nodes = this.#specs.map((spec) => this.#nodes.add(spec))
    const starting = Promise.all([
      components["controller-manager"].start(),
      components.scheduler.start(),
      ...nodes.map((start) => start()),
    ])
    await this.#driver.ended(() => "startCluster waits for components and nodes to start", starting)
    await this.#settle()
    if (preload !== undefined) await this.apply(preload)
  }

  /** The current time of the cluster. */
  get now(): Date {
    return new Date(this.#clock.now())
  }
  get nodes(): readonly string[] {
    return this.#nodes.names
  }

  /** Adds a node, named like those of `startCluster` by default. Returns its name. */
  addNode(node: NodeOptions = {}): Promise<string> {
    return this.#from(async () => {
      const spec = this.#nodes.specOf(node)
      const starting = this.#nodes.add(spec)()
      await this.#driver.ended(() => `addNode waits for the kubelet of ${JSON.stringify(spec.name)} to start`, starting)
      await this.#settle()
      return spec.name
    })
  }

  /** Returns a client that acts as another user, with the rights of that user. */
  as(user: string, groups: readonly string[] = []): TestClient {
    this.#alive()
    return this.#clientAs(user, groups)
  }

  /**
   * Returns the kind that is served under this name; also for custom resources, and for kinds of extension servers that
   * are available.
   */
  kind(apiVersion: string, kind: string): Resource {
    const { scheme, remoteKinds } = this.#assembly.apiServer
    const isIt = (one: Resource) => one.apiVersion === apiVersion && one.kind === kind
    const resource = scheme.of(apiVersion, kind) ?? remoteKinds.resources.find(isIt)
    if (resource === undefined)
      throw at(
        callerOf(),
        new TestClusterError(`No kind ${JSON.stringify(kind)} is served in ${JSON.stringify(apiVersion)}`),
      )
    return resource
  }

  /**
   * Applies a path, YAML text or objects by server-side apply: Namespaces first, then CustomResourceDefinitions, then
   * the others in their order. Returns the objects in the order of the source. Objects without a namespace get
   * `default`.
   */
  apply(
    source: ManifestSource | readonly ManifestSource[],
    options: ApplyOptions = {},
  ): Promise<readonly KubeObject[]> {
    return this.#from(async () => {
      const { scheme } = this.#assembly.apiServer
      const applied = await applyAll(source, this.client, (apiVersion, kind) => scheme.of(apiVersion, kind), options)
      await this.#settle()
      return applied
    })
  }

  /** Advances time by `duration`: everything due until then happens, in order. */
  advance(duration: Duration): Promise<void> {
    return this.#from(() => {
      const ms = milliseconds(duration)
      return this.#move("advance", (clock) => clock.advance(ms))
    })
  }

  /** Advances time to an instant. */
  advanceTo(time: string | number | Date): Promise<void> {
    return this.#from(() => {
      const target = instant(time)
      if (target < this.#clock.now())
        throw new TestClusterError(
          `Cannot advance to ${formatTime(target)}: it is ${formatTime(this.#clock.now())} already`,
        )
      return this.#move("advanceTo", (clock) => clock.advanceTo(target))
    })
  }

  /** Lets everything happen that is due at this instant, and all that follows from it at the same instant. */
  settle(): Promise<void> {
    return this.#from(() => this.#move("settle", (clock) => clock.settle()))
  }

  /**
   * Waits until `check` returns true, or asserts something without throwing. Meanwhile virtual time advances from one
   * due timer to the next.
   * @throws TestClusterError after `within` (60s by default), with what was last seen; at once when a check returns
   * something else
   */
  eventually(check: Check, options?: EventuallyOptions): Promise<void>
  /** Waits for a list of objects. Returns the list. */
  eventually<T extends KubeObject>(
    resource: Resource<T>,
    selection: Selection,
    check: (objects: readonly T[]) => ReturnType<Check>,
    options?: EventuallyOptions,
  ): Promise<readonly T[]>
  eventually<T extends KubeObject>(
    first: Check | Resource<T>,
    second?: EventuallyOptions | Selection,
    third?: (objects: readonly T[]) => ReturnType<Check>,
    fourth?: EventuallyOptions,
  ): Promise<void | readonly T[]> {
    return this.#from<void | readonly T[]>(async () => {
      if (typeof first === "function") return eventually(first, this.#waiting, second as EventuallyOptions | undefined)
      const selection = second as Selection
      let found: readonly T[] = []
      const look: Check = async () => {
        found = (await this.client.list(first, listOptions(selection))).items
        return third!(found)
      }
      await eventually(look, this.#waiting, fourth, third)
      return found
    })
  }

  /** Returns every revision of every object, oldest first, with its author and time. */
  history(filter: HistoryFilter = {}): readonly HistoryEntry[] {
    if (filter.kind !== undefined) checkKind(filter.kind, this.#assembly.apiServer.scheme.resources)
    const entries = historyOf(this.#storage, filter)
    return this.#frozen === "none" ? entries : deepFreeze(entries)
  }

  /**
   * Returns why a pod is not running: the reasons per node and plugin when it is not scheduled, otherwise those of
   * image, crash and probe.
   */
  explain(pod: Reference): Promise<Explanation> {
    return this.#from(async () => this.#explain(await this.client.get(Pod, pod)))
  }

  #explain(pod: Pod): Promise<Explanation> {
    return explainPod(pod, this.client, this.#assembly.scheduler?.diagnosis(pod))
  }

  /** Returns the running container of a simulated pod, to inspect or disturb it; the first one by default. */
  container(pod: Reference, name?: string): SimulatedContainer | undefined {
    this.#alive()
    const { name: podName, namespace } = refOf(Pod, pod)
    const found = this.#storage.get(`${Pod.prefix}${namespace ?? ""}/${podName ?? ""}`)?.object as Pod | undefined
    const container = name ?? found?.spec.containers[0]?.name
    return found === undefined || container === undefined
      ? undefined
      : this.#nodes.simulated
          .get(found.spec.nodeName ?? "")
          ?.runtime.containers.find(found.metadata.uid ?? "", container)
  }

  /** Returns the simulated machine of a node: its files, images and containers. */
  machine(node: string): SimulatedRuntime {
    this.#alive()
    const found = this.#nodes.simulated.get(node)
    if (found === undefined) throw at(callerOf(), noSuchNode(node, this.#nodes.simulated))
    return found.runtime
  }

  /**
   * Returns what the API server uses for logs, exec, port forwarding and the kubelet's own paths. Undefined while no
   * kubelet runs on the node.
   */
  connector(node: string): NodeConnector | undefined {
    this.#alive()
    return this.#assembly.cluster.connectors.get(node)
  }

  /**
   * Returns what a container has written so far, as `kubectl logs`; the first container of the pod by default.
   * @throws ApiError of the kubelet, for example when there was no previous run
   */
  logs(pod: Reference, options: string | LogsOptions = {}): Promise<string> {
    return this.#from(async () => {
      const found = await this.client.get(Pod, pod)
      const connector = this.#assembly.cluster.connectors.get(found.spec.nodeName ?? "")
      if (connector === undefined)
        throw new TestClusterError(
          `Cannot read the log of pod ${JSON.stringify(pod)}: ` +
            `${found.spec.nodeName ? `no kubelet runs on its node ${found.spec.nodeName}` : "it has no node yet"}`,
        )
      const wanted = typeof options === "string" ? { container: options } : options
      return this.#driver.ended(
        () => `logs waits for the kubelet of ${found.spec.nodeName}`,
        readLogs(found, wanted, connector, this.#clock),
      )
    })
  }

  /**
   * Sends a request as a pod would: to the address of a pod, `http://10.42.0.3:8080/healthz`, or to a Service by its
   * name or address, `http://web/`, `http://web.team.svc:8080/`.
   */
  fetch(url: string | Request): Promise<Response> {
    return this.#from(() => {
      const request = typeof url === "string" ? new Request(url) : url
      const { host, port } = addressOf(new URL(request.url), this.#storage, this.#random)
      return this.#driver.ended(
        () => `fetch waits for the answer of ${request.url}`,
        this.#nodes.network.fetch(request, host, port, 30_000),
      )
    })
  }

  /** Runs a controller of the test as `user`, until the cluster ends. */
  async run<T extends KubeObject>(
    controller: Controller<T>,
    { user = ADMIN.name, groups = ADMIN.groups }: { readonly user?: string; readonly groups?: readonly string[] } = {},
  ): Promise<void> {
    await this.#from(async () => {
      const context = this.contextFor(user, groups)
      const starting = startController(controller, context)
      // A controller that becomes ready only after the cluster has ended must be stopped too.
      void starting.then(
        (running) => {
          if (this.#ending.signal.aborted) return running.stop()
          this.#stops.push(() => running.stop())
        },
        () => undefined,
      )
      await this.#driver.ended(
        () =>
          `run waits for ${controller.name} to start; as ${user} it cannot list ` +
          `${context.informers.pending().join(", ") || "what it watches"}`,
        starting,
      )
      await this.#settle()
    })
  }

  /**
   * Returns the context for a component of the test, which acts as `user`. Its informers end with the cluster; the test
   * must stop the component. `fieldSelectors`, by kind, restrict the informers of a user who may not see all objects,
   * such as a kubelet.
   */
  contextFor(
    user: string = ADMIN.name,
    groups: readonly string[] = user === ADMIN.name ? ADMIN.groups : [],
    options: { readonly fieldSelectors?: ReadonlyMap<Resource, string> } = {},
  ): ComponentContext {
    this.#alive()
    const { clients } = this.#assembly.cluster
    const context = clients.contextOf(this.#assembly.givenClientFor(user, groups), options)
    this.#stops.push(() => clients.release(context))
    return context
  }

  /** Sets how an image behaves, for containers that are started from now on. */
  setImage(image: string, behaviour: ImageBehaviour): void {
    this.#alive()
    this.images.set(image, behaviour)
  }

  /** Serves the API to other programs: TLS on loopback. They use `kubeconfig`. */
  async listen({ port = 0 }: { readonly port?: number } = {}): Promise<Listening> {
    return this.#from(async () => {
      const open = await this.#assembly.apiServer.listen({ host: "127.0.0.1", port })
      const url = `https://127.0.0.1:${open}`
      const { pki, adminToken: token } = this.#assembly.apiServer.files!
      this.#kubeconfig = kubeconfigYaml({
        server: url,
        caPem: pki.authorities["server-ca"].certPem,
        user: { token },
        name: "k3ts-testing",
      })
      return { url, port: open, token, kubeconfig: this.#kubeconfig }
    })
  }

  /** The kubeconfig for kubectl and other clients; available after `listen`. */
  get kubeconfig(): string {
    if (this.#kubeconfig === undefined)
      throw new TestClusterError("There is no kubeconfig yet: call `await cluster.listen()` first")
    return this.#kubeconfig
  }

  /**
   * Ends the cluster and checks it.
   * @throws TestClusterError when background work failed, a watch or timer was left, revisions did not rise, or an
   * object outlived its owner
   */
  stop(): Promise<void> {
    const caller = callerOf()
    return (this.#stopped ??= from(caller, () => this.#stop()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    const caller = callerOf()
    return (this.#stopped ??= from(caller, () => this.#stop()))
  }

  async #stop(): Promise<void> {
    await this.#driver.ended(() => "stop waits for components to end", this.#end())
  }

  async #end(): Promise<void> {
    const problems: string[] = []
    if (!this.#endless) await this.#settle()
    if (this.#controllers && this.#virtual !== undefined && !this.#virtual.exact)
      problems.push(...orphans(this.#storage, this.#assembly.apiServer.scheme.resources))
    this.#ending.abort(new Error("the cluster is being stopped"))
    this.#rules.clear()
    for (const stop of this.#stops.toReversed()) await stop()
    await this.#nodes.stop()
    await this.#assembly.components.scheduler.crash()
    await this.#assembly.components["controller-manager"].crash()
    this.#nodes.close()
    problems.push(...this.#assembly.watches.left.map((watch) => `a watch was left open: ${watch}`))
    await this.#assembly.components.apiserver.crash()
    await this.#virtual?.quiet()
    const { pending = 0 } = this.#virtual ?? {}
    if (pending > 0) problems.push(`${pending} timer${pending === 1 ? " was" : "s were"} left`)
    problems.push(
      ...this.#endRevisions(),
      ...this.#thrown.map(({ message }) => message),
      ...this.#assembly.failures.map(
        (err) => `background work failed: ${err instanceof Error ? err.message : String(err)}`,
      ),
    )
    this.#storage.close()
    // The endless instant was reported already, and no cluster that is stuck in one ends without faults.
    if (problems.length > 0 && !this.#endless)
      throw new TestClusterError(`The cluster ended with faults (${replay(this.seed)}):\n  ${problems.join("\n  ")}`, {
        cause: this.#assembly.failures[0],
        reason: "UncleanEnd",
      })
  }

  get #waiting(): Waiting {
    return {
      clock: this.#clock,
      driver: this.#driver,
      storage: this.#storage,
      seed: this.seed,
      seen: this.#seen,
      explain: (pod) => this.#explain(pod).then(String, () => ""),
    }
  }

  protected act<T>(work: (acting: Acting) => Promise<T>): Promise<T> {
    return this.#from(() =>
      work({
        client: this.client,
        clock: this.#clock,
        replay: replay(this.seed),
        pause: async (ms) => {
          if (this.#virtual === undefined) await sleep(this.#clock, ms)
          else await this.#driver.move((clock) => clock.advance(ms))
        },
        settle: () => this.#settle(),
        eventually: (check, options) => eventually(check, this.#waiting, options),
        ended: (what, waited) => this.#driver.ended(what, waited),
      }),
    )
  }

  /** @throws TestClusterError on the real clock */
  async #move(method: string, work: (clock: VirtualClock) => Promise<void>): Promise<void> {
    if (this.#virtual === undefined)
      throw new TestClusterError(
        `Cannot ${method}: the cluster runs on the real clock, which nobody can move. Use \`eventually\`, or ` +
          `clock: "virtual"`,
      )
    await this.#driver.move(work)
    const [failure] = this.#thrown
    if (failure === undefined) return
    const told = this.#thrown.map(({ message }) => message)
    this.#thrown.length = 0
    throw new TestClusterError(told.join("\n"), { cause: failure })
  }

  async #settle(): Promise<void> {
    await this.#driver.move((clock) => clock.settle())
  }

  /** The limit of turns at one instant. It grows with the number of nodes, each of which has some turns of its own. */
  #mostTurns(): number {
    return TURNS + TURNS_OF_NODE * this.#nodes.count
  }

  #clientAs(user: string, groups: readonly string[]): TestClient {
    return testClient(this.#assembly.drivenClientFor(user, groups, { driver: this.#driver, seen: this.#seen }), () =>
      this.#alive(),
    )
  }

  #alive(): void {
    if (this.#stopped !== undefined)
      throw new TestClusterError("The cluster has ended: it was stopped, or its `await using` block was left", {
        reason: "Stopped",
      })
  }

  /** Runs a public method: refuses it after the end, and shows its error at the line that called it. */
  #from<T>(work: () => T | Promise<T>): Promise<T> {
    const caller = callerOf()
    return from(caller, () => {
      this.#alive()
      return work()
    })
  }
}
