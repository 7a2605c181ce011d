import type { ImageBehaviour, ImageBehaviours } from "../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { SimulatedRuntime } from "../../kubelet/runtime/simulated/simulated-runtime.ts"
import type { SimulatedContainer } from "../../kubelet/runtime/simulated/containers/container.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { deepFreeze } from "../../../pkg/apimachinery/json/deep-freeze.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import { formatTime } from "../../../pkg/apimachinery/scalars/time.ts"
import type { NodeConnector } from "../../../pkg/component/node-connector.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import type { Controller } from "../../../pkg/controller/controller.ts"
import { actingOn } from "./verbs/acting.ts"
import { applyAll, type ApplyOptions } from "./verbs/apply.ts"
import { at, callerOf, from, TestClusterError } from "./caller.ts"
import { ADMIN, clusterParts, type ClusterParts } from "./cluster-parts.ts"
import { endCluster } from "./end/end-cluster.ts"
import { instant, milliseconds, type Duration } from "./time/duration.ts"
import { moveTime } from "./time/move-time.ts"
import { explainPod, type Explanation } from "./history/explain.ts"
import { eventually, eventuallyListed, type Check, type EventuallyOptions, type Waiting } from "./verbs/eventually.ts"
import { noSuchNode, noSuchServer, type Faults } from "./faults/faults.ts"
import { listenOn, type Listening } from "./network/listening.ts"
import { historyOf, type HistoryEntry, type HistoryFilter } from "./history/history.ts"
import { fetchAsPod } from "./verbs/fetch-as-pod.ts"
import { checkKind } from "./faults/known-requests.ts"
import { LastSeen } from "./history/last-seen.ts"
import { listOptions, refOf, type Reference, type Selection } from "./verbs/selection.ts"
import { readLogs, type LogsOptions } from "./verbs/logs.ts"
import type { ManifestSource } from "./verbs/manifests.ts"
import type { ClusterOptions } from "./options.ts"
import type { NodeOptions } from "./node-spec.ts"
import { TEST_MACHINE } from "./servers/servers.ts"
import type { ClusterSnapshot } from "./snapshot.ts"
import { tracesOf, type Trace } from "./traces.ts"
import { runController } from "./run-controller.ts"
import { servedKind } from "./served-kind.ts"
import { testClient, type TestClient } from "./verbs/test-client.ts"
import { KubectlVerbs, type Acting } from "./verbs/verbs.ts"

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
    const { snapshot } = options
    const cluster = new Cluster(
      options,
      snapshot === undefined ? undefined : await (await import("./snapshot.ts")).readSnapshot(snapshot),
    )
    await cluster.start(options.preload)
    return cluster
  })
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
  readonly #parts: ClusterParts
  readonly #seen = new LastSeen()
  readonly #stops: (() => unknown)[] = []
  readonly #controllers: boolean
  #stopped: Promise<void> | undefined
  #kubeconfig: string | undefined

  /** @internal */
  constructor(options: ClusterOptions, snapshot?: ClusterSnapshot) {
    super()
    this.#parts = clusterParts(options, () => this.#alive(), snapshot)
    this.#controllers = options.components?.controllers !== false
    this.client = this.#clientAs(ADMIN.name, ADMIN.groups)
    this.seed = this.#parts.seed
    this.faults = this.#parts.faults
    this.images = this.#parts.images
  }

  /** @internal Called by `startCluster`. */
  async start(preload: ClusterOptions["preload"]): Promise<void> {
    const { assembly, driver, servers } = this.#parts
    const { components } = assembly
    const serving = components.apiserver.start()
    // Several servers agree over a network, which takes time.
    await (servers === undefined ? serving : driver.ended(() => "startCluster waits for the servers to start", serving))
    const nodes = this.#parts.specs.map((spec) => this.#parts.nodes.add(spec))
    const starting = Promise.all([
      components["controller-manager"].start(),
      components.scheduler.start(),
      ...nodes.map((start) => start()),
    ])
    await driver.ended(() => "startCluster waits for components and nodes to start", starting)
    await this.#settle()
    if (preload !== undefined) await this.apply(preload)
  }

  /** The current time of the cluster. */
  get now(): Date {
    return new Date(this.#parts.clock.now())
  }
  get nodes(): readonly string[] {
    return this.#parts.nodes.names
  }

  /** The names of the servers, if the cluster was started with `servers`. */
  get servers(): readonly string[] {
    return this.#parts.servers?.names ?? []
  }

  /** Returns a client that acts as administrator through one server. @throws TestClusterError for an unknown server */
  through(server: string): TestClient {
    this.#alive()
    const { servers } = this.#parts
    if (servers === undefined || !servers.names.includes(server))
      throw at(callerOf(), noSuchServer(server, servers?.names ?? []))
    return this.#clientAs(ADMIN.name, ADMIN.groups, server)
  }

  /**
   * @internal Whether a server has given this answer or error from its memory, because it could not reach the log that
   * the servers share.
   */
  mayBeOld(answer: object): boolean {
    return this.#parts.servers?.mayBeOld(answer) ?? false
  }

  /** @internal How many elections of a leader of the log there were. */
  get elections(): number {
    return this.#parts.servers?.consensus.elections ?? 0
  }

  /** Adds a node, named like those of `startCluster` by default. Returns its name. */
  addNode(node: NodeOptions = {}): Promise<string> {
    return this.#from(async () => {
      const spec = this.#parts.nodes.specOf(node)
      const starting = this.#parts.nodes.add(spec)()
      await this.#parts.driver.ended(() => `addNode waits for the kubelet of node ${spec.name} to start`, starting)
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
    const caller = callerOf()
    try {
      return servedKind(this.#parts.assembly.apiServer, apiVersion, kind)
    } catch (err) {
      throw at(caller, err)
    }
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
      const { scheme } = this.#parts.assembly.apiServer
      const applied = await applyAll(source, this.client, (apiVersion, kind) => scheme.of(apiVersion, kind), options)
      await this.#settle()
      return applied
    })
  }

  /** Advances time by `duration`: everything due until then happens, in order. */
  advance(duration: Duration): Promise<void> {
    return this.#from(() => {
      const ms = milliseconds(duration)
      return moveTime("advance", this.#parts, (clock) => clock.advance(ms))
    })
  }

  /** Advances time to an instant. */
  advanceTo(time: string | number | Date): Promise<void> {
    return this.#from(() => {
      const target = instant(time)
      if (target < this.#parts.clock.now())
        throw new TestClusterError(
          `Cannot advance to ${formatTime(target)}: it is ${formatTime(this.#parts.clock.now())} already`,
        )
      return moveTime("advanceTo", this.#parts, (clock) => clock.advanceTo(target))
    })
  }

  /** Lets everything happen that is due at this instant, and all that follows from it at the same instant. */
  settle(): Promise<void> {
    return this.#from(() => moveTime("settle", this.#parts, (clock) => clock.settle()))
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
      const list = async () => (await this.client.list(first, listOptions(second as Selection))).items
      return eventuallyListed(list, third!, this.#waiting, fourth)
    })
  }

  /** Returns every revision of every object, oldest first, with its author and time. */
  history(filter: HistoryFilter = {}): readonly HistoryEntry[] {
    if (filter.kind !== undefined) checkKind(filter.kind, this.#parts.assembly.apiServer.scheme.resources)
    const entries = historyOf(this.#parts.storage, filter, this.#parts.authorOf)
    return this.#parts.frozen === "none" ? entries : deepFreeze(entries)
  }

  /**
   * Returns why a pod is not running: the reasons per node and plugin when it is not scheduled, otherwise those of
   * image, crash and probe.
   */
  explain(pod: Reference): Promise<Explanation> {
    return this.#from(async () => this.#explain(await this.client.get(Pod, pod)))
  }

  #explain(pod: Pod): Promise<Explanation> {
    return explainPod(pod, this.client, this.#parts.assembly.scheduler?.diagnosis(pod))
  }

  /** Returns the running container of a simulated pod, to inspect or disturb it; the first one by default. */
  container(pod: Reference, name?: string): SimulatedContainer | undefined {
    this.#alive()
    const { name: podName = "", namespace = "" } = refOf(Pod, pod)
    const found = this.#parts.storage.get(`${Pod.prefix}${namespace}/${podName}`)?.object as Pod | undefined
    return found === undefined ? undefined : this.#parts.nodes.containerOf(found, name)
  }

  /** Returns the simulated machine of a node: its files, images and containers. */
  machine(node: string): SimulatedRuntime {
    this.#alive()
    const found = this.#parts.nodes.simulated.get(node)
    if (found === undefined) throw at(callerOf(), noSuchNode(node, this.#parts.nodes.simulated))
    return found.runtime
  }

  /**
   * @internal Returns what the API server uses for logs, exec, port forwarding and the kubelet's own paths. Undefined
   * while no kubelet runs on the node.
   */
  connector(node: string): NodeConnector | undefined {
    this.#alive()
    return this.#parts.assembly.connectors.get(node)
  }

  /**
   * Returns what a container has written so far, as `kubectl logs`; the first container of the pod by default.
   * @throws ApiError of the kubelet, for example when there was no previous run
   */
  logs(pod: Reference, options: string | LogsOptions = {}): Promise<string> {
    return this.#from(async () => {
      const found = await this.client.get(Pod, pod)
      return readLogs(this.#parts, found, typeof options === "string" ? { container: options } : options)
    })
  }

  /**
   * Sends a request as a pod would: to the address of a pod, `http://10.42.0.3:8080/healthz`, or to a Service by its
   * name or address, `http://web/`, `http://web.team.svc:8080/`.
   */
  fetch(url: string | Request): Promise<Response> {
    return this.#from(() => fetchAsPod(this.#parts, typeof url === "string" ? new Request(url) : url))
  }

  /** Runs a controller of the test as `user`, until the cluster ends. */
  async run<T extends KubeObject>(
    controller: Controller<T>,
    { user = ADMIN.name, groups = ADMIN.groups }: { readonly user?: string; readonly groups?: readonly string[] } = {},
  ): Promise<void> {
    await this.#from(async () => {
      const context = this.contextFor(user, groups)
      await runController(controller, { ...this.#parts, context, user, stops: this.#stops })
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
    const clients = this.#parts.assembly.clientsOn(TEST_MACHINE)
    const context = clients.contextOf(this.#parts.assembly.givenClientFor(user, groups), options)
    this.#stops.push(() => clients.release(context))
    return context
  }

  /** Sets how an image behaves, for containers that are started from now on. */
  setImage(image: string, behaviour: ImageBehaviour): void {
    this.#alive()
    this.images.set(image, behaviour)
  }

  /**
   * Returns what the requests so far have caused, each request of the test and each thing that the cluster did by
   * itself as a trace. Needs `startCluster({ tracing: true })`.
   */
  traces(): readonly Trace[] {
    this.#alive()
    return tracesOf(this.#parts.traces)
  }

  /** Serves the API to other programs: TLS on loopback. They use `kubeconfig`. */
  async listen({ port = 0 }: { readonly port?: number } = {}): Promise<Listening> {
    return this.#from(async () => {
      const listening = await listenOn(this.#parts.assembly.apiServer, port)
      this.#kubeconfig = listening.kubeconfig
      return listening
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
    return this.stop()
  }

  async #stop(): Promise<void> {
    const ended = endCluster(this.#parts, { hasControllers: this.#controllers, stops: this.#stops })
    await this.#parts.driver.ended(() => "stop waits for components to end", ended)
  }

  get #waiting(): Waiting {
    return {
      clock: this.#parts.clock,
      driver: this.#parts.driver,
      storage: this.#parts.storage,
      seed: this.seed,
      seen: this.#seen,
      explain: (pod) => this.#explain(pod).then(String, () => ""),
    }
  }

  /** @internal */
  protected act<T>(work: (acting: Acting) => Promise<T>): Promise<T> {
    return this.#from(() => work(actingOn(this.#parts, this.client, this.#waiting)))
  }

  async #settle(): Promise<void> {
    await this.#parts.driver.move((clock) => clock.settle())
  }

  #clientAs(user: string, groups: readonly string[], server?: string): TestClient {
    const driving = { driver: this.#parts.driver, seen: this.#seen }
    return testClient(this.#parts.assembly.drivenClientFor(user, groups, driving, server), () => this.#alive())
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
