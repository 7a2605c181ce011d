import type { AdmissionOptions } from "./admission/admission-settings.ts"
import type { TolerationSeconds } from "./admission/plugins/defaulttolerationseconds.ts"
import type { AuditConfig } from "./audit/create-audit.ts"
import type { Features } from "../../pkg/component/features.ts"
import type { TlsProfile } from "../../pkg/runtime/http/tls-profile.ts"
import type { OptionalKind } from "../../pkg/component/optional-kinds.ts"
import type { NodeConnectors } from "../../pkg/component/node-connector.ts"
import type { Registry } from "../../pkg/metrics/registry.ts"
import type { ConnectionLimits } from "../../pkg/runtime/http/connections.ts"
import type { Profiler } from "../../pkg/runtime/profiler.ts"
import type { Storage } from "../../pkg/storage/storage.ts"
import type { FindExtensionServer, OwnExtension } from "./aggregator/extension-server.ts"
import type { DatastoreConfig } from "./store/storage-config.ts"
import type { AuthorizationConfig } from "./authorization/authorization-config.ts"
import type { SignInConfig } from "./authentication/sign-in-config.ts"
import type { EncryptionConfig } from "./encryption/load.ts"
import type { InFlightLimits } from "./flowcontrol/max-in-flight.ts"
import type { KubeletDialer } from "./kubelet-client/remote-kubelets.ts"
import type { BesideApi } from "./serving/beside.ts"
import type { ListenAt } from "./listener.ts"
import type { Pipeline } from "./call/request.ts"
import type { FurtherAuthorities } from "./serving/further-authorities.ts"
import type { GivenCertificatesConfig } from "./serving/given/config.ts"
import type { ServiceAccountKeys, ServingFiles } from "./serving/serving.ts"
import type { TokenLife } from "./registry/core/serviceaccount/token.ts"
import type { WebhookCaller } from "./webhooks/webhook-caller.ts"

/** What a server serves, where, and with which limits. */
export interface ApiServerConfig {
  /**
   * Folder of the data; files go under `<dataDir>/server`. Without it the store is in memory and no file is written.
   */
  readonly dataDir?: string
  /** The address to listen on. Without it the server can only be reached from this process. */
  readonly listen?: ListenAt
  /** What the port serves for other machines of the cluster; nothing unless given. */
  readonly beside?: BesideApi
  /** The address under which other machines reach this one; the first address of this machine unless given. */
  readonly advertiseAddress?: string
  readonly tlsSans?: readonly string[]
  /** Whether there is a default StorageClass, whose volumes are folders of the nodes. */
  readonly localStorage?: boolean
  /** Whether there is a default IngressClass, whose Ingresses are served by this program. */
  readonly ingress?: boolean
  /** Whether the kinds of Gateway API are defined, unless somebody else has defined some of them. */
  readonly gateway?: boolean
  /** Whether the kinds HelmChart and HelmChartConfig are defined. */
  readonly helm?: boolean
  /** Whether the kind Addon is defined. */
  readonly addons?: boolean
  /**
   * The range of Service addresses, or one of each family with the primary one first. Its first address is that of the
   * Service `kubernetes`.
   */
  readonly serviceCidrs: readonly string[]
  readonly nodePorts: { readonly first: number; readonly last: number }
  readonly clusterDomain: string
  /** The file for the administrator's kubeconfig. */
  readonly kubeconfig?: { readonly path: string; readonly mode: number }
  /** What is audited, and where the events go; nothing unless given. */
  readonly audit?: AuditConfig | undefined
  /**
   * Whether requests without credentials are those of system:anonymous, on all paths or on none, as upstream's
   * --anonymous-auth says; by default on those of health and version only.
   */
  readonly anonymous?: boolean
  /** Who may sign in beside the cluster's own users; nobody unless given. */
  readonly signIn?: SignInConfig | undefined
  /** Authorities of others whose client certificates count beside those of the cluster; none unless given. */
  readonly furtherAuthorities?: FurtherAuthorities | undefined
  /** Who decides about requests; nodes' own rights and RBAC unless given. */
  readonly authorization?: AuthorizationConfig | undefined
  /** What tokens must be for; the issuers of service account tokens unless given. */
  readonly apiAudiences?: readonly string[] | undefined
  /** Connections to the kubelets, for logs, exec and the like. */
  readonly nodes: NodeConnectors
  /**
   * Returns the way to a kubelet on another machine through the tunnel that its agent has opened; undefined where there
   * is none, and then the kubelet's address is dialled. Without it only kubelets in this process are reached.
   */
  readonly tunnelTo?: (node: string) => KubeletDialer | undefined
  /** The registry of metrics; one of its own unless given. */
  readonly metrics?: Registry
  /** Freezes objects, so that code that changes one in place throws. For tests. */
  readonly frozen?: boolean
  /** A store that its owner opened and closes. Without it the server opens one below `dataDir`, or one in memory. */
  readonly storage?: Storage
  /** Certificates and keys; without them those below `dataDir` are read, or made. */
  readonly files?: ServingFiles
  /** Called when the store is open and before those files are read or made: servers that share a store share some. */
  readonly beforeFiles?: () => Promise<void>
  /** The issuers of service account tokens, of which the first one signs; the cluster's own name unless given. */
  readonly issuers?: readonly string[] | undefined
  /** What is said about service account tokens; the cluster's own keys sign and verify them unless given. */
  readonly serviceAccounts?: ServiceAccountKeys & TokenLife & { readonly jwksUri?: string | undefined }
  /** The versions and ciphers of TLS; those of the library from TLS 1.2 on unless given. */
  readonly tlsProfile?: TlsProfile | undefined
  /** The administrator's own certificates for the port; the cluster's own serves everybody unless given. */
  readonly givenCertificates?: GivenCertificatesConfig | undefined
  /** How long history is kept, in milliseconds; an hour unless given. With 0 only watches can read the log. */
  readonly historyMs?: number
  /** How long Events are kept, in seconds; an hour unless given, and for ever if zero. */
  readonly eventSeconds?: number | undefined
  /** Most bytes of history on disk; 128 MiB unless given. */
  readonly historyBytes?: number
  /** Starts even if acknowledged writes, or the whole database, are missing below `dataDir`. */
  readonly acceptDataLoss?: boolean
  /** Whether commits below `dataDir` do not wait for the disk. For tests of other programs. */
  readonly unsafeNoFsync?: boolean
  /** The store that several servers share, instead of one below `dataDir`. */
  readonly datastore?: DatastoreConfig | undefined
  /** What is encrypted below `dataDir`, or in the store that is shared. */
  readonly encryption?: EncryptionConfig
  /**
   * Most requests served at once; upstream's 400 reads and 200 writes unless given. Priority and fairness divides their
   * sum.
   */
  readonly maxInFlight?: InFlightLimits
  /** False turns priority and fairness off: requests beyond `maxInFlight` are refused with 429, whoever sends them. */
  readonly priorityAndFairness?: boolean
  /** Most time that a request may take, in milliseconds; 60 s unless given. */
  readonly requestTimeoutMs?: number
  /**
   * How long a server that stops goes on before it takes no more connections, in milliseconds: other servers serve its
   * clients meanwhile. It stops at once unless given.
   */
  readonly shutdownDelayMs?: number | undefined
  /** Requests and watches have no time limit. For a virtual clock, whose clients wait in real time. */
  readonly withoutTimeLimits?: boolean
  /** How long a connection may be idle, and how many connections there may be; upstream's times unless given. */
  readonly connectionLimits?: Partial<ConnectionLimits>
  /** Names of the admission plugins that are off. */
  readonly disabledAdmission?: ReadonlySet<string>
  /** Which admission plugins are on, and what they are told; those of Kubernetes unless given. */
  readonly admission?: AdmissionOptions | undefined
  /** How long pods stay on nodes that have failed; five minutes unless given. */
  readonly tolerationSeconds?: TolerationSeconds | undefined
  /** The kinds that are served although they are off by default; none unless given. */
  readonly optionalKinds?: readonly OptionalKind[]
  /** Feature gates; those of Kubernetes 1.36 unless given. */
  readonly features?: Features
  /** Replaces the way admission webhooks are called, which is over HTTPS: test clusters call functions. */
  readonly webhooks?: (overHttps: WebhookCaller) => WebhookCaller
  /** APIs that other components of this process serve. */
  readonly ownExtensions?: readonly OwnExtension[]
  /** Makes the profiles below /debug/pprof; without it there are none. */
  readonly profiler?: Profiler | undefined
  /** Functions that replace the servers of Services that APIServices name; none unless given. */
  readonly extensionServers?: FindExtensionServer
  /** Wraps the pipeline for every request and watch: test clusters make requests fail here. */
  readonly intercept?: (pipeline: Pipeline) => Pipeline
}
