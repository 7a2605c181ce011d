import type { ImageBehaviour, ImageBehaviours } from "../../kubelet/runtime/simulated/containers/behaviour.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"
import type { ComponentContext } from "../../../pkg/component/component.ts"
import type { Controller } from "../../../pkg/controller/controller.ts"
import { podInWords } from "./report/pod-in-words.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import { actingOn } from "./verbs/acting.ts"
import { applyAll, type ApplyOptions } from "./verbs/apply.ts"
import { at, callerOf, from, TestClusterError, type TestClusterReason } from "./caller.ts"
import { ADMIN, clusterParts, type ClusterParts, type LoadedOptions } from "./cluster-parts.ts"
import { checkImage, checkNode } from "./options/known-names.ts"
import { isGroups, machineProblem, type ContextOptions } from "./context-options.ts"
import { endCluster } from "./end/end-cluster.ts"
import { tellSuppressed } from "./end/suppressed.ts"
import type { Waiting } from "./verbs/eventually.ts"
import { type Faults } from "./faults/faults.ts"
import { noSuchServer } from "./faults/no-such.ts"
import type { KubectlOptions, KubectlResult } from "./kubectl/run.ts"
import { listenOn, type Listening } from "./network/listening.ts"
import { fetchAsPod, type FetchOptions } from "./verbs/fetch-as-pod.ts"
import { ClusterInsight } from "./history/cluster-insight.ts"
import { printIfTestFails } from "./report/print-reports.ts"
import { ReportFile } from "./report/report-files.ts"
import { LastSeen } from "./history/last-seen.ts"
import type { ManifestSource } from "./verbs/manifests.ts"
import { loadedFrom } from "./options/loaded-options.ts"
import type { ClusterOptions } from "./options/options.ts"
import type { NodeOptions } from "./options/node-spec.ts"
import { ClusterReplay, nodeFaultsOf } from "./replay/cluster-replay.ts"
import type { ClusterSnapshot } from "./snapshot.ts"
import { milliseconds, type Duration } from "./time/duration.ts"
import { TEST_MACHINE } from "./servers/servers.ts"
import { runController } from "./run-controller.ts"
import { startCsiDrivers } from "./storage/start-drivers.ts"
import { servedKind } from "./served-kind.ts"
import { testClient, type TestClient } from "./verbs/test-client.ts"
import type { Acting } from "./verbs/verbs.ts"

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
export const startCluster = (options: ClusterOptions = {}): Promise<Cluster> => startFrom(options)

/** Starts a cluster from what was read of another one; from the options' snapshot unless given. */
export async function startFrom(options: ClusterOptions, begin?: ClusterSnapshot): Promise<Cluster> {
  tellSuppressed()
  const caller = callerOf()
  return from(caller, async () => {
    const loaded = await loadedFrom(options, begin)
    const cluster = new Cluster(options, new ReportFile(caller, options.reports), loaded)
    printIfTestFails(() => cluster.report())
    await cluster.start(options.preload)
    return cluster
  })
}

/** The reasons of errors that come with a report. */
const REPORTED: ReadonlySet<TestClusterReason> = new Set(["Timeout", "EndlessInstant", "UncleanEnd"])

/**
 * A cluster that a test reads and moves in time. When a method fails, the error shows the test's line that called it.
 */
export class Cluster extends ClusterInsight implements AsyncDisposable {
  /** Acts as administrator. The objects it returns are shared and must not be changed. */
  readonly client: TestClient
  readonly seed: number
  /** Makes parts of the cluster fail. */
  readonly faults: Faults
  /** How images behave; can be changed at any time for containers that are started later. */
  readonly images: ImageBehaviours
  /** @internal */
  protected readonly reportFile: ReportFile
  readonly #parts: ClusterParts
  readonly #seen = new LastSeen()
  readonly #stops: (() => unknown)[] = []
  readonly #controllers: boolean
  #stopped: Promise<void> | undefined
  #replay: ClusterReplay | undefined
  #kubeconfig: string | undefined

  /** @internal */
  constructor(options: ClusterOptions, reportFile: ReportFile, loaded?: LoadedOptions) {
    super()
    this.reportFile = reportFile
    this.#parts = clusterParts(options, () => this.alive(), loaded)
    this.#controllers = options.components?.controllers !== false
    this.client = this.#clientAs(ADMIN.name, ADMIN.groups)
    this.seed = this.#parts.seed
    this.faults = this.#parts.faults
    this.images = this.#parts.images
  }

  /** @internal Called by `startCluster`. */
  async start(preload: ClusterOptions["preload"]): Promise<void> {
    const { assembly, driver, servers, network } = this.#parts
    const { components } = assembly
    await network.prepare()
    const serving = components.apiserver.start()
    // Several servers agree over a network, which takes time.
    await (servers === undefined ? serving : driver.ended(() => "startCluster waits for the servers to start", serving))
    const { replay } = this.#parts
    replay?.start(nodeFaultsOf(this.#parts))
    this.#stops.push(() => replay?.stop())
    const starting = Promise.all([
      components["controller-manager"].start(),
      components.scheduler.start(),
      this.#parts.nodes.start(this.#parts.specs),
    ])
    await driver.ended(() => "startCluster waits for components and nodes to start", starting)
    await driver.ended(() => "startCluster waits for the network to start", network.start())
    await driver.ended(() => "startCluster waits for the CSI drivers", startCsiDrivers(this.#parts, this.#stops))
    await this.#settle()
    this.#parts.started()
    if (preload !== undefined) await this.apply(preload)
  }

  /** The recording that is played. @throws TestClusterError for a cluster that was started without `replay` */
  get replay(): ClusterReplay {
    const { replay } = this.#parts
    if (replay === undefined)
      throw at(callerOf(), new TestClusterError("There is no recording: start the cluster with `replay`"))
    return (this.#replay ??= new ClusterReplay(replay, this.#parts))
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
    this.alive()
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
    return this.called(async () => {
      checkNode(node)
      const spec = this.#parts.nodes.specOf(node)
      const starting = this.#parts.nodes.add(spec)()
      await this.#parts.driver.ended(() => `addNode waits for the kubelet of node ${spec.name} to start`, starting)
      await this.#settle()
      return spec.name
    })
  }

  /** Returns a client that acts as another user, with the rights of that user. */
  as(user: string, groups: readonly string[] = []): TestClient {
    this.alive()
    return this.#clientAs(user, groups)
  }

  /**
   * Returns the kind that is served under this name; also for custom resources, and for kinds of extension servers that
   * are available. The test says what type its objects have: `cluster.kind<Widget>("example.com/v1", "Widget")`.
   */
  kind<T extends KubeObject = KubeObject>(apiVersion: string, kind: string): Resource<T> {
    const caller = callerOf()
    try {
      // Only the test knows the type of a custom kind's objects.
      return servedKind(this.#parts.assembly.apiServer, apiVersion, kind) as Resource<T>
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
    return this.called(async () => {
      const { scheme } = this.#parts.assembly.apiServer
      const applied = await applyAll(source, this.client, (apiVersion, kind) => scheme.of(apiVersion, kind), options)
      await this.#settle()
      return applied
    })
  }

  /**
   * Sends a request as a pod would: to the address of a pod, `http://10.42.0.3:8080/healthz`, or to a Service by its
   * name or address, `http://web/`, `http://web.team.svc:8080/`, or to a host of an Ingress or a Gateway. `from` says
   * who sends it, to whom NetworkPolicies apply. Redirects are not followed. @throws ConnectionError with the `code`
   * that a client on Linux gets, or what the image throws
   */
  fetch(url: string | URL | Request, options: FetchOptions = {}): Promise<Response> {
    return this.called(() => fetchAsPod(this.#parts, url, options))
  }

  /**
   * Runs kubectl in this process, as administrator: `kubectl("get pods -o wide")`. Virtual time advances while it
   * waits, as for a rollout. Resolves also when the command fails: its exit code and its words are in the result.
   */
  kubectl(command: string | readonly string[], options: KubectlOptions = {}): Promise<KubectlResult> {
    return this.called(async () => {
      const { kubectlOn } = await import("./kubectl/run.ts")
      const result = await kubectlOn(this.#parts, command, options)
      await this.#settle()
      return result
    })
  }

  /** Runs a controller of the test as `user`, until the cluster ends; with `machine` as `contextFor` has it. */
  async run<T extends KubeObject>(
    controller: Controller<T>,
    {
      user = ADMIN.name,
      groups = ADMIN.groups,
      machine,
    }: { readonly user?: string; readonly groups?: readonly string[]; readonly machine?: string } = {},
  ): Promise<void> {
    await this.called(async () => {
      const context = this.contextFor(user, groups, machine === undefined ? {} : { machine })
      await runController(controller, { ...this.#parts, context, user, stops: this.#stops })
      await this.#settle()
    })
  }

  /**
   * Returns the context for a component of the test, which acts as `user`. Its informers end with the cluster; the test
   * must stop the component. The groups may be left out: `contextFor("operator", { machine: "node-1" })`.
   * @throws TestClusterError for an unknown machine
   */
  contextFor(
    user: string = ADMIN.name,
    groupsOrOptions: readonly string[] | ContextOptions = [],
    options: ContextOptions = isGroups(groupsOrOptions) ? {} : groupsOrOptions,
  ): ComponentContext {
    this.alive()
    const { machine = TEST_MACHINE } = options
    const problem = machine === TEST_MACHINE ? undefined : machineProblem(machine, this.#parts)
    if (problem !== undefined) throw at(callerOf(), problem)
    const given = isGroups(groupsOrOptions) ? groupsOrOptions : []
    const groups = given.length === 0 && user === ADMIN.name ? ADMIN.groups : given
    const clients = this.#parts.assembly.clientsOn(machine)
    const context = clients.contextOf(this.#parts.assembly.givenClientFor(user, groups, machine), options)
    this.#stops.push(() => clients.release(context))
    return { ...context, log: this.#parts.ownErrors.noting(context.log) }
  }

  /** Sets how an image behaves, for containers that are started from now on. */
  setImage(image: string, behaviour: ImageBehaviour): void {
    this.alive()
    checkImage(image, behaviour)
    this.images.set(image, behaviour)
  }

  /**
   * Returns a snapshot of the cluster as it is now, from which `startCluster({ snapshot })` starts another one: with
   * all objects, at this time, and nodes of the same names. Containers begin anew there.
   */
  snapshot(): Promise<Uint8Array> {
    return this.called(async () => {
      const { takeSnapshot } = await import("./snapshot.ts")
      return takeSnapshot(this.#parts.assembly.apiServer, this.#parts.clock.now())
    })
  }

  /**
   * Returns a recording of what has happened, as `k3ts record` makes it, which `startCluster({ replay })` plays: of the
   * last hour, or of as much as `last` says.
   */
  recording({ last = "1h" }: { readonly last?: Duration } = {}): Promise<Uint8Array> {
    return this.called(async () => {
      const { recordCluster } = await import("./replay/record-cluster.ts")
      return recordCluster(this.#parts, [`--last=${milliseconds(last)}ms`])
    })
  }

  /** Serves the API to other programs: TLS on loopback. They use `kubeconfig`. */
  async listen({ port = 0 }: { readonly port?: number } = {}): Promise<Listening> {
    return this.called(async () => {
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
    return (this.#stopped ??= from(caller, () => this.#reporting(() => this.#stop())))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #stop(): Promise<void> {
    const ended = endCluster(this.#parts, { hasControllers: this.#controllers, stops: this.#stops })
    await this.#parts.driver.ended(() => "stop waits for components to end", ended)
  }

  /** @internal */
  protected get parts(): ClusterParts {
    return this.#parts
  }

  /** @internal */
  protected get waiting(): Waiting {
    return {
      clock: this.#parts.clock,
      driver: this.#parts.driver,
      storage: this.#parts.storage,
      seed: this.seed,
      seen: this.#seen,
      inWords: (pod) => podInWords(pod, this.parts.assembly.scheduler?.diagnosis(pod)),
      ownErrors: () => this.#parts.ownErrors.inWords(),
    }
  }

  /** @internal */
  protected act<T>(work: (acting: Acting) => Promise<T>): Promise<T> {
    return this.called(() => work(actingOn(this.#parts, this.client, this.waiting)))
  }

  async #settle(): Promise<void> {
    await this.#parts.driver.move((clock) => clock.settle())
  }

  #clientAs(user: string, groups: readonly string[], server?: string): TestClient {
    const driving = { driver: this.#parts.driver, seen: this.#seen }
    return testClient(this.#parts.assembly.drivenClientFor(user, groups, driving, server), () => this.alive())
  }

  /** @internal */
  protected alive(): void {
    if (this.#stopped !== undefined)
      throw new TestClusterError("The cluster has ended: it was stopped, or its `await using` block was left", {
        reason: "Stopped",
      })
  }

  /** @internal */
  protected called<T>(work: () => T | Promise<T>): Promise<T> {
    const caller = callerOf()
    return from(caller, () => {
      this.alive()
      return this.#reporting(work)
    })
  }

  /** Writes the report of a wait that took too long, or of an end that was not clean, where there is a folder for it. */
  async #reporting<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (err) {
      if (this.reportFile.isWanted && err instanceof TestClusterError && REPORTED.has(err.reason))
        err.message += `\n  ${this.#whereReported()}`
      throw err
    }
  }

  /** Writes the report. Returns where it is, or why it could not be written: the failure itself is what the test needs. */
  #whereReported(): string {
    try {
      return `the report is in ${this.report().file}`
    } catch (err) {
      return `there is no report: ${errorMessage(err)}`
    }
  }
}
