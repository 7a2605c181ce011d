import { boolean, list, value } from "../cli/flags.ts"
import type { FlagsOf } from "../cli/flags.ts"
import type { ForeignFlags } from "../cli/foreign-flags.ts"
import { notEmpty, reading, textThat } from "../cli/flag-type.ts"
import {
  cidr,
  count,
  duration,
  eventTtl,
  featureGates,
  filePath,
  fileToRead,
  ipAddress,
  portOrNone,
  portRange,
} from "../cli/values.ts"
import { admissionFlags } from "../config/admission-flags.ts"
import { UsageError } from "../cli/usage-error.ts"

const AUTHORIZERS = ["Node", "RBAC"]
const authorizer = reading(
  (text) => AUTHORIZERS.find((one) => one === text),
  "must be Node or RBAC, by which this API server always authorizes",
)

const etcdUrl = textThat(
  (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
  "must be a URL, as in http://127.0.0.1:2379",
)

/** The flags of upstream's kube-apiserver that this one knows, with upstream's names and defaults. */
export const apiServerFlags = {
  "etcd-servers": list(etcdUrl, "URLs of `etcd` of this folder, or of a real etcd", { placeholder: "URL" }),
  "etcd-cafile": value(fileToRead.optional(), "Certificate authority of a real etcd", {
    placeholder: "FILE",
    path: true,
  }),
  "etcd-certfile": value(fileToRead.optional(), "Client certificate for it", { placeholder: "FILE", path: true }),
  "etcd-keyfile": value(fileToRead.optional(), "Key of that certificate", { placeholder: "FILE", path: true }),
  "bind-address": value(ipAddress.default("0.0.0.0"), "Address to listen on", { placeholder: "ADDRESS" }),
  "advertise-address": value(ipAddress.optional(), "Address under which clients reach this server", {
    placeholder: "ADDRESS",
    defaultText: "bind-address, or the first address of this machine",
  }),
  "secure-port": value(portOrNone.default(6443), "Port to listen on; 0 takes a free one", { placeholder: "PORT" }),
  "cert-dir": value(filePath.optional(), "Folder of apiserver.crt and apiserver.key, which are made if missing", {
    placeholder: "DIR",
    path: true,
  }),
  "tls-cert-file": value(fileToRead.optional(), "Serving certificate, instead of that of cert-dir", {
    placeholder: "FILE",
    path: true,
  }),
  "tls-private-key-file": value(fileToRead.optional(), "Its key", { placeholder: "FILE", path: true }),
  "client-ca-file": value(fileToRead.optional(), "Authorities of client certificates", {
    placeholder: "FILE",
    path: true,
  }),
  "service-cluster-ip-range": list(cidr, "Addresses of Services", { placeholder: "CIDR" }, ["10.0.0.0/24"]),
  "service-node-port-range": value(portRange.prefault("30000-32767"), "Node ports of Services", {
    placeholder: "FIRST-LAST",
    defaultText: "30000-32767",
  }),
  "service-account-issuer": list(notEmpty, "Issuers of service account tokens; the first one signs", {
    placeholder: "URL",
  }),
  "service-account-key-file": list(fileToRead, "Keys or certificates that verify these tokens", {
    placeholder: "FILE",
    path: true,
  }),
  "service-account-signing-key-file": value(fileToRead.optional(), "Key that signs these tokens", {
    placeholder: "FILE",
    path: true,
    defaultText: "a new one",
  }),
  "anonymous-auth": boolean("Take requests without credentials for those of system:anonymous", {}, true),
  "authorization-mode": list(authorizer, "Node and RBAC, which are always both on", { placeholder: "MODE" }),
  ...admissionFlags,
  "feature-gates": value(featureGates.prefault(""), "Feature gates to switch on or off", {
    placeholder: "NAME=BOOL,…",
    defaultText: "as in Kubernetes 1.36",
  }),
  "runtime-config": list(
    textThat((text) => /^[^=]+(=(true|1))?$/.test(text.trim()), "must be NAME=true: versions cannot be turned off"),
    "Versions to serve, besides those that are always served",
    { placeholder: "NAME=true" },
  ),
  "event-ttl": value(eventTtl.default(3600), "How long Events are kept", {
    placeholder: "DURATION",
    defaultText: "1h",
  }),
  "request-timeout": value(duration.default(60), "Most time of a request", {
    placeholder: "DURATION",
    defaultText: "1m",
  }),
  "max-requests-inflight": value(count.default(400), "Most reads at once", { placeholder: "N" }),
  "max-mutating-requests-inflight": value(count.default(200), "Most writes at once", { placeholder: "N" }),
  "enable-priority-and-fairness": boolean("Share what is limited between users", {}, true),
  "audit-log-path": value(filePath.optional(), "File of the audit log", { placeholder: "FILE", path: true }),
  v: value(count.default(0), "Verbosity of the log; 4 shows more", { placeholder: "N" }),
}

export type ApiServerFlags = FlagsOf<typeof apiServerFlags>

/** Takes a flag that changes nothing here, whatever its value. */
const unheeded = { kind: "value", becomes: () => [] } as const
const unheededSwitch = { kind: "boolean", becomes: () => [] } as const

/** Flags of upstream's kube-apiserver that suites pass, and that ask for what is so anyway. */
export const unheededFlags: ForeignFlags = {
  "allow-privileged": unheededSwitch,
  "enable-aggregator-routing": unheededSwitch,
  "enable-bootstrap-token-auth": unheededSwitch,
  profiling: unheededSwitch,
  "service-account-lookup": unheededSwitch,
  "watch-cache": unheededSwitch,
  "endpoint-reconciler-type": unheeded,
  "storage-backend": unheeded,
  "storage-media-type": unheeded,
  vmodule: unheeded,
}

/** @throws UsageError for flags that do not go together */
export function checkTogether(flags: ApiServerFlags): void {
  if (flags["etcd-servers"].length === 0) throw new UsageError("--etcd-servers must be given, as in upstream's")
  const modes = flags["authorization-mode"]
  if (modes.length > 0 && !modes.includes("RBAC"))
    throw new UsageError("--authorization-mode must name RBAC, by which this API server always authorizes")
  if ((flags["tls-cert-file"] === undefined) !== (flags["tls-private-key-file"] === undefined))
    throw new UsageError("--tls-cert-file and --tls-private-key-file are given together")
}
