/** What a program says of itself in its log: nobody else can tell whether it is so. */
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { finding, type Finding } from "../answer.ts"
import { containerOf } from "./container-of.ts"
import { interpreterFinding, platformFinding } from "./start.ts"

interface Words {
  readonly words: RegExp
  /** A second pattern that the line must match, too. */
  readonly and?: RegExp
  readonly code: string
  /** What follows `the program of container c`. */
  readonly says: string | ((pod: Pod, match: readonly string[], container: string) => string)
  /** Whether the pod bears it out; where it does not, the line means something else. */
  readonly when?: (pod: Pod, container: string) => boolean
  readonly hint?: string | ((pod: Pod, container: string) => string)
}

/** In this order: some words mean something else with others beside them. */
const WORDS: readonly Words[] = [
  {
    words: /address already in use|EADDRINUSE|\bport \d+ (?:was|is) already in use/i,
    code: "address-in-use",
    says: "cannot listen: its port is taken by another container of the pod (or of the node, with hostNetwork)",
  },
  {
    words: /bind: permission denied|listen EACCES|bind\(\).*permission denied/i,
    code: "port-not-allowed",
    says: "may not listen on its port: ports below 1024 need root or NET_BIND_SERVICE",
    hint: "let it listen on a higher port; the Service can keep the lower one",
  },
  {
    words: /(?:bind|listen)[^\n]*cannot assign requested address|EADDRNOTAVAIL/i,
    code: "address-not-own",
    says: (_pod, [line]) => `cannot listen at an address that its pod does not have: ${line!.trim()}`,
    hint: "let it listen at 0.0.0.0, or at the address of the pod (fieldRef status.podIP)",
  },
  {
    words: /serviceaccount\/(?:token|ca\.crt)['"]?:? no such file|unable to load in-cluster configuration/i,
    when: (pod, container) => !hasToken(pod, container),
    code: "token-not-mounted",
    says: ({ spec }) =>
      "wants to ask the API server, and its pod has no token of its service account" +
      (spec.automountServiceAccountToken === false ? ": automountServiceAccountToken of the pod is false" : ""),
    hint: "see automountServiceAccountToken of the pod and of its ServiceAccount",
  },
  {
    words: /(?:token|credentials) (?:has|have|is|are) expired|Unauthorized.*(?:expired|provide credentials)/i,
    code: "token-expired",
    says: "uses a token or credentials that are out of date",
    hint: "tokens of service accounts are renewed in their file: the program must read it again",
  },
  {
    words: /the server has asked for the client to provide credentials|invalid bearer token/i,
    code: "token-refused",
    says: "is not known to the API server, which does not accept its token: it is out of date, of an account that is gone, or of another cluster",
    hint: "let it read the token of its pod again, whenever it asks; see where else it takes one from",
  },
  {
    words:
      /RequestTimeTooSkewed|clock[- ]?skew|token used before issued|token is not (?:yet valid|valid yet)|request time and the current time|\b(?:iat|nbf)\b[^\n]*(?:future|not yet|before)/i,
    code: "clock-skew",
    says: (_pod, [line]) => `is refused because its clock differs from that of the server: ${line!.trim()}`,
    hint: "set the clock of the node (NTP): containers have no clock of their own",
  },
  {
    words:
      /(?:password|ident|peer) authentication failed for user|access denied for user|authentication failed|invalid (?:username|user name|login)[- ](?:password|or password)|incorrect (?:username|password)|\bWRONGPASS\b|\bNOAUTH\b|login failed for user/i,
    code: "credentials-refused",
    says: (_pod, [line]) => `is refused by a server that it asks: user or password are wrong: ${line!.trim()}`,
    hint: (pod, container) => {
      const secrets = secretsOf(pod, container)
      return secrets.length === 0
        ? "compare its user and password with those of the server"
        : `compare user and password with those of the server; it has them perhaps from ${secrets.join(", ")}`
    },
  },
  {
    words: /(?:number of file watchers|inotify|fsnotify|file ?watch)/i,
    and: /no space left|ENOSPC|too many open files|EMFILE|limit/i,
    code: "file-watches-used-up",
    says: "cannot watch files: the node's limit of watches (inotify) is used up; it lacks neither disk space nor files",
    hint: "raise fs.inotify.max_user_watches and fs.inotify.max_user_instances on the node",
  },
  {
    words: /too many open files|EMFILE|ENFILE/i,
    code: "open-files-used-up",
    says: "has as many open files and connections as it may (RLIMIT_NOFILE)",
    hint: "see whether it closes its files and connections; the runtime of the node sets the limit",
  },
  {
    words:
      /can't start new thread|unable to create (?:new )?native thread|fork: (?:retry: )?Resource temporarily unavailable|pthread_create[^\n]*(?:EAGAIN|Resource temporarily unavailable)|failed to create new OS thread|can(?:no|')t fork/i,
    code: "process-ids-used-up",
    says: "can start no more processes or threads: it has as many as its pod or its node may have",
    hint: "see why it starts so many; podPidsLimit of the kubelet, and the node's own limit, say how many there may be",
  },
  {
    words: /leader ?election lost|failed to renew lease/i,
    code: "leader-lost",
    says: "gave up because it could not renew its lease in time, by which it leads",
    hint: "see whether the API server answered slowly then, and whether its CPU limit slows it down",
  },
  {
    words: /too many (?:clients already|connections)|remaining connection slots|max number of clients reached/i,
    code: "server-connections-used-up",
    says: (_pod, [line]) => `is refused by a server that has as many connections as it may: ${line!.trim()}`,
    hint: "use fewer connections (a pool, fewer replicas), or let the server have more",
  },
  {
    words:
      /remote error: tls: (?:bad certificate|certificate required|unknown certificate)|alert (?:bad certificate|certificate required)/i,
    code: "client-certificate-refused",
    says: (_pod, [line]) =>
      /handshake error from/i.test(line!)
        ? "is asked by clients that do not trust its certificate"
        : "is refused by a server that does not accept its certificate, or wants one and gets none",
    hint: "compare the certificates of both sides with the authorities that the other one trusts",
  },
  {
    words:
      /unknown (?:shorthand )?flag|flag provided but not defined|unrecognized (?:option|argument)|unknown (?:command-line )?option|(?:illegal|invalid) option|unexpected argument/i,
    code: "arguments-refused",
    says: (pod, [line], container) => `does not take its arguments: ${line!.trim()}${argumentsOf(pod, container)}`,
    hint: "correct command and args of the container, or use a version of the image that knows them",
  },
  {
    words: /JavaScript heap out of memory|OutOfMemoryError: (?:Java heap space|GC overhead|Metaspace)/,
    code: "heap-used-up",
    says: "has used up its heap, whose size it limits itself: not the memory limit of the container ended it",
    hint: "let it have a larger heap (-XX:MaxRAMPercentage, NODE_OPTIONS=--max-old-space-size=MB), and a memory limit above that",
  },
  {
    words: /error while loading shared libraries: ([^:\s]+)|Error loading shared library ([^:\s]+)/,
    code: "library-missing",
    says: (_pod, [, first, second = ""]) =>
      `needs the library ${first ?? second}, which is not where its loader looks: the image does not have it, or a volume hides it`,
    hint: "use an image that has it, or install it there",
  },
  {
    words: /version [`'](\w+_[\d.]+)' not found/,
    code: "library-too-old",
    says: (_pod, [, version = ""]) => `was built for newer libraries than its image has: ${version} is not there`,
    hint: "build it on the base that it runs on, or use an image with newer libraries",
  },
  {
    words: /lost\+found/,
    and: /not empty|mount point|contains|has files|already exists/i,
    code: "volume-not-empty",
    says: "wants an empty folder, and its volume has the folder lost+found, as each new ext4 file system",
    hint: "let it use a folder in the volume: subPath of the volumeMount, or a setting such as PGDATA",
  },
  {
    words:
      /RTNETLINK answers: Operation not permitted|(?:iptables|ip6tables|nft)\b[^\n]*(?:permission denied|must be root|not permitted)|(?:^|[\s:])(?:mount|umount|unshare|setns|ptrace|mlock|bpf|sethostname|settimeofday|clock_settime|modprobe|sysctl|socket)(?:\([^)\n]*\))?: [^\n]*(?:operation not permitted|EPERM)/i,
    code: "capability-missing",
    says: (_pod, [line]) => `does what its container may not: ${line!.trim()}`,
    hint: "give the container the capability (securityContext.capabilities.add, such as NET_ADMIN or SYS_ADMIN), or leave it out",
  },
  {
    words: /permission denied|EACCES|operation not permitted|EPERM/i,
    and: /\b(?:f?open|mkdir|create|write|touch|cp|chown|chmod|permissions|ownership|unlink)/i,
    code: "permission-denied",
    says: (_pod, [line]) => `may not use a file: ${line!.trim()}`,
    hint: "see runAsUser, runAsGroup and fsGroup of the pod, and who owns the file or the volume",
  },
  {
    words: /read-only file ?system|EROFS/i,
    code: "read-only-file-system",
    says: "writes where it may not: the file system is read-only",
    hint: "mount an emptyDir where it writes, or leave out readOnlyRootFilesystem",
  },
  {
    words:
      /not yet valid: current time \S+ is before|certificate is not yet valid|CERT_NOT_YET_VALID|CertificateNotYetValid/i,
    code: "certificate-not-yet-valid",
    says: "meets a certificate that is not valid yet: it begins later, or the clock of the node is behind",
    hint: "compare the clock of the node with the dates of the certificate",
  },
  {
    words: /certificate (?:has|is) expired|CERT_HAS_EXPIRED|CertificateExpiredException/i,
    code: "certificate-expired",
    says: "meets a certificate that has expired",
  },
  {
    words:
      /certificate is (?:not )?valid for (?:[^,]+), not (\S+)|certificate is not valid for (?:any names|['"])|does not match certificate's altnames|hostname mismatch|No subject alternative (?:DNS )?names? (?:matching|present)|no alternative certificate subject name matches|CERT_ALTNAME_INVALID/i,
    code: "certificate-name",
    says: "asks a server by a name that the server's certificate does not have",
    hint: "ask by a name of the certificate, or issue one with this name, such as NAME.NAMESPACE.svc",
  },
  {
    words:
      /signed by unknown authority|self[- ]signed certificate|unable to (?:get local issuer|verify the first) certificate|CERTIFICATE_VERIFY_FAILED|unable to find valid certification path/i,
    code: "certificate-untrusted",
    says: "does not trust the certificate of a server that it asks: it does not know who has signed it",
    hint: "give it the certificate of that authority (a ConfigMap as a file), or have the server send its whole chain",
  },
  {
    words: /server gave HTTP response to HTTPS client|wrong version number|first record does not look like a TLS/i,
    code: "connection-scheme",
    says: "speaks TLS with a port that does not, or the other way round",
    hint: "correct the scheme (http, https) or the port that it asks",
  },
  {
    words: /no space left on device|ENOSPC/i,
    code: "no-disk-space",
    says: "has no space left on a volume or the node",
  },
]

/** Returns what a line says of the program; undefined where it is nothing known. */
export function ownFinding(pod: Pod, container: string, line: string): Finding | undefined {
  const evidence = [`log of ${container}: ${line.trim()}`]
  if (/exec format error/i.test(line)) return platformFinding(container, evidence)
  const script = /^exec (\/[^\s:"]+): no such file or directory/.exec(line)?.[1]
  if (script !== undefined) return interpreterFinding(container, script, evidence)
  const found = WORDS.find(
    ({ words, and, when }) => words.test(line) && and?.test(line) !== false && when?.(pod, container) !== false,
  )
  if (found === undefined) return undefined
  const { words, code, says, hint } = found
  const match = words.exec(line) ?? [line]
  const said = typeof says === "string" ? says : says(pod, [line, ...match.slice(1)], container)
  return finding(code, `the program of container ${container} ${said}`, {
    evidence,
    hints: hint === undefined ? [] : [typeof hint === "string" ? hint : hint(pod, container)],
  })
}

/** The Secrets from which variables of a container come. */
function secretsOf(pod: Pod, name: string): readonly string[] {
  const { env = [], envFrom = [] } = containerOf(pod, name) ?? {}
  const names = [
    ...env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? []),
    ...envFrom.flatMap(({ secretRef }) => secretRef?.name ?? []),
  ]
  return [...new Set(names)].map((one) => `Secret ${one}`)
}

/** Where the token of a pod's service account is mounted. */
const TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"

const hasToken = (pod: Pod, name: string): boolean =>
  containerOf(pod, name)?.volumeMounts?.some(({ mountPath }) => mountPath === TOKEN_PATH) === true

/** How many letters of arguments are shown. */
const LONGEST = 200

function argumentsOf(pod: Pod, name: string): string {
  const { command = [], args = [] } = containerOf(pod, name) ?? {}
  const all = [...command, ...args].join(" ")
  if (all === "") return ""
  return `; its container has ${args.length > 0 ? "args" : "command"} ${all.length > LONGEST ? `${all.slice(0, LONGEST)}…` : all}`
}
