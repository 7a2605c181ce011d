import { join } from "node:path"
import { loaded } from "../../clock/clock.ts"
import { ClientConfig } from "../config/client-config.ts"
import { LoadingRules } from "../config/loading-rules.ts"
import { shownUrl, type RestConfig } from "../config/rest-config.ts"
import type { GlobalValues } from "../command/global-flags.ts"
import type { Connect } from "../environment/connect.ts"
import type { Environment } from "../environment/environment.ts"
import type { FieldValidation } from "../command/shared-flags.ts"
import { parsePoint, POINT_FORMS } from "../../history/point.ts"
import type { PluginPolicy } from "../preferences/preference.ts"
import type { BuilderOptions } from "../resource/builder-options.ts"
import type { ContentValidator } from "../resource/stream-visitor.ts"
import type { OpenApi } from "../rest/openapi.ts"
import type { Result } from "../resource/result.ts"
import { staticCredentials, type Credentials } from "../rest/credentials.ts"
import { DiscoveryCache, discoveryFolder } from "../rest/discovery-cache.ts"
import { Discovery } from "../rest/discovery.ts"
import { RestClient } from "../rest/rest-client.ts"
import { RestMapper } from "../rest/rest-mapper.ts"
import type { Warnings } from "../rest/warnings.ts"
import type { Log } from "../rest/log.ts"

/** What commands ask for, made once when it is first asked for. Source: kubectl pkg/cmd/util/factory.go. */
export class Factory {
  readonly environment: Environment
  readonly globals: GlobalValues
  readonly warnings: Warnings
  readonly log: Log
  readonly config: ClientConfig
  readonly #headers: Readonly<Record<string, string>>
  readonly #pluginPolicy: PluginPolicy | undefined
  #rest: Promise<RestConfig> | undefined
  #client: Promise<RestClient> | undefined
  #withoutStdin: Promise<RestClient> | undefined
  #forDiscovery: Promise<RestClient> | undefined
  #discovery: Promise<Discovery> | undefined
  #mapper: Promise<RestMapper> | undefined
  #openApi: Promise<OpenApi> | undefined

  constructor(parts: {
    readonly environment: Environment
    readonly globals: GlobalValues
    readonly warnings: Warnings
    readonly log: Log
    /** The headers of every request. */
    readonly headers: Readonly<Record<string, string>>
    /** Which programs may give credentials; undefined: any. */
    readonly pluginPolicy?: PluginPolicy | undefined
  }) {
    this.environment = parts.environment
    this.globals = parts.globals
    this.warnings = parts.warnings
    this.log = parts.log
    this.#headers = parts.headers
    this.#pluginPolicy = parts.pluginPolicy
    const rules = new LoadingRules(this.environment, this.globals.kubeconfig, (level, message) =>
      this.log.info(level, message, "loader.go:407"),
    )
    this.config = new ClientConfig(this.environment, this.globals, rules, this.log)
  }

  /** The namespace of the command, and whether `--namespace` set it. */
  namespace(): Promise<{ readonly namespace: string; readonly explicit: boolean }> {
    return this.config.namespace()
  }

  /** How to reach the server. */
  rest(): Promise<RestConfig> {
    return (this.#rest ??= this.config.rest().then((config) => ({ ...config, ...this.#at() })))
  }

  /**
   * The point of `--at`; how long ago becomes a time, so that all requests of a command mean the same one.
   * @throws Error for what is no point
   */
  #at(): Pick<RestConfig, "at"> {
    const { at } = this.globals
    if (at === "") return {}
    const point = parsePoint(at)
    if (point === undefined) throw new Error(`--at ${JSON.stringify(at)}: must be ${POINT_FORMS}`)
    return { at: "ago" in point ? new Date(this.environment.clock.now() - point.ago).toISOString() : at }
  }

  client(): Promise<RestClient> {
    return (this.#client ??= this.rest().then(async (config) => {
      if (config.tls.ca !== undefined || config.tls.cert !== undefined)
        (await import("../config/check-tls.ts")).checkTls(config)
      return this.newClient(config, await this.#credentials(config))
    }))
  }

  /**
   * A client for objects that are read from the input, which a program that gives credentials then must not read too.
   * What the server serves is asked for without it. Source: cli-runtime pkg/resource/client.go (withStdinUnavailable).
   */
  async #clientWithoutStdin(): Promise<RestClient> {
    const client = await this.client()
    if (client.config.exec === undefined) return client
    return (this.#withoutStdin ??= this.#credentials(client.config, "used by stdin resource manifest reader").then(
      (credentials) => this.newClient(client.config, credentials),
    ))
  }

  /** A client of another configuration than that of the command line. */
  newClient(config: RestConfig, credentials: Credentials = staticCredentials(config)): RestClient {
    return new RestClient(this.environment, config, {
      headers: this.#headers,
      credentials,
      warnings: this.warnings,
      log: this.log.requests(),
    })
  }

  /** `stdinUse` is what else reads the input, if something does. */
  async #credentials(config: RestConfig, stdinUse?: string): Promise<Credentials> {
    if (config.authProvider !== undefined)
      throw new Error(`no Auth Provider found for name ${JSON.stringify(config.authProvider)}`)
    if (config.exec === undefined) return staticCredentials(config)
    const { execCredentials } = await import("../rest/exec-credentials.ts")
    return execCredentials(config, config.exec, this.environment, { policy: this.#pluginPolicy, stdinUse })
  }

  /** The client for what the server says of itself; the answers are kept on disk. */
  #discoveryClient(): Promise<RestClient> {
    return (this.#forDiscovery ??= this.client().then((client) => {
      const { connect, files, clock, random } = this.environment
      let keeping: Promise<Connect> | undefined
      const load = async (): Promise<Connect> => {
        const { keepingConnect } = await import("../rest/http-cache/keeping-connect.ts")
        const { KeptResponses } = await import("../rest/http-cache/kept-responses.ts")
        const kept = new KeptResponses({ folder: join(this.#cacheDir(), "http"), files, random })
        return keepingConnect({ connect, kept, clock, addressOf: (url) => shownUrl(url, client.config) })
      }
      return client.over({
        dial: (request) => connect.dial(request),
        send: async (request) => (await (keeping ??= load())).send(request),
      })
    }))
  }

  /** What the server serves. */
  discovery(): Promise<Discovery> {
    return (this.#discovery ??= this.#discoveryClient().then((client) => {
      const { files, clock, random } = this.environment
      const folder = discoveryFolder(this.#cacheDir(), client.config.server)
      return new Discovery(client, new DiscoveryCache({ folder, files, clock, random }), (message) =>
        this.log.error("memcache.go:265", message),
      )
    }))
  }

  /** The OpenAPI documents of the server, version 3. */
  openApi(): Promise<OpenApi> {
    return (this.#openApi ??= Promise.all([this.#discoveryClient(), import("../rest/openapi.ts")]).then(
      ([client, file]) => new file.OpenApi(client),
    ))
  }

  /** The check of objects of files, for `--validate`. */
  async validator(validation: FieldValidation): Promise<ContentValidator | undefined> {
    // What is wrong with the configuration is no fault of the first object.
    await this.rest()
    const { validatorOf } = await import("../resource/validator.ts")
    return validatorOf(validation, () => this.openApi())
  }

  #cacheDir(): string {
    const flag = this.globals["cache-dir"]
    return flag === "" ? defaultCacheDir(this.environment) : flag
  }

  /** Finds resources by their names and kinds. */
  restMapper(): Promise<RestMapper> {
    return (this.#mapper ??= this.discovery().then(
      (discovery) => new RestMapper(discovery, (message) => this.warnings.print(message)),
    ))
  }

  /** Finds what a command line names: files, types, names and selectors. */
  async build(options: BuilderOptions): Promise<Result> {
    const { build } = await loaded(this.environment.clock, import("../resource/builder.ts"))
    return build(
      {
        environment: this.environment,
        client: (stdinInUse) => (stdinInUse ? this.#clientWithoutStdin() : this.client()),
        restMapper: () => this.restMapper(),
        discovery: () => this.discovery(),
        kustomize: async (path) => {
          const { buildKustomization } = await import("./kustomization.ts")
          return buildKustomization(this.environment, path)
        },
      },
      options,
    )
  }

  /** Reads a file that the command line names, as Go's os.ReadFile. */
  async readFile(path: string): Promise<Uint8Array> {
    const { goPathError } = await import("../environment/files.ts")
    try {
      return await this.environment.files.read(path)
    } catch (err) {
      throw goPathError("open", path, err)
    }
  }
}

export const defaultCacheDir = ({ variables, home }: Environment): string =>
  (variables["KUBECACHEDIR"] ?? "") === "" ? join(home, ".kube", "cache") : variables["KUBECACHEDIR"]!
