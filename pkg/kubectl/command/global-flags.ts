import { boolFlag, durationFlag, intFlag, stringArrayFlag, stringFlag, type FlagValues } from "./flag.ts"

/** Differs from upstream, which has no such flag: only servers of k3ts know the past (docs/history.md). */
const AT_USAGE = "Read the cluster as it was: at a time, so long ago (10m), or at a resourceVersion"

/**
 * The flags that every command has. Source of names and defaults: cli-runtime pkg/genericclioptions/config_flags.go,
 * kubectl pkg/cmd/cmd.go and profiling.go, klog.
 */
export const globalFlags = (defaults: { readonly cacheDir: string; readonly kuberc: boolean }) => ({
  as: stringFlag("", "The user to act as for the operation: a regular user, or a service account of a namespace."),
  "as-group": stringArrayFlag([], "A group to act as for the operation. Repeat the flag for several groups."),
  "as-uid": stringFlag("", "The UID to act as for the operation."),
  "as-user-extra": stringArrayFlag(
    [],
    "Extra information, as key=value, of the user to act as. Repeat the flag for several values of a key.",
  ),
  at: stringFlag("", AT_USAGE, { hidden: true }),
  "cache-dir": stringFlag(defaults.cacheDir, "The folder of the cache"),
  "certificate-authority": stringFlag(
    "",
    "The file with the certificate of the authority that the server is trusted by",
  ),
  "client-certificate": stringFlag("", "The file with the client certificate for TLS"),
  "client-key": stringFlag("", "The file with the key of the client certificate for TLS"),
  cluster: stringFlag("", "The cluster of the kubeconfig to use"),
  context: stringFlag("", "The context of the kubeconfig to use"),
  "disable-compression": boolFlag(false, "If true, ask the server for answers that are not compressed"),
  "insecure-skip-tls-verify": boolFlag(
    false,
    "If true, the server's certificate is not checked. This makes HTTPS connections insecure",
  ),
  kubeconfig: stringFlag("", "The kubeconfig file to use for requests of this command."),
  ...(defaults.kuberc
    ? {
        kuberc: stringFlag(
          "",
          "The kuberc file with preferences. KUBECTL_KUBERC=false in the environment, or KUBERC=off, turns preferences off.",
        ),
      }
    : {}),
  "log-flush-frequency": durationFlag(5000, "Longest time in seconds between flushes of the log"),
  "match-server-version": boolFlag(false, "Require that the server has the version of this client"),
  namespace: stringFlag("", "The namespace of this request, instead of that of the context", { shorthand: "n" }),
  password: stringFlag("", "The password for basic authentication to the API server"),
  profile: stringFlag("none", "The profile to record. One of (none|cpu|heap|goroutine|threadcreate|block|mutex|trace)"),
  "profile-output": stringFlag("profile.pprof", "The file to write the profile to"),
  "request-timeout": stringFlag(
    "0",
    "How long to wait for one answer of the server, with a unit of time (e.g. 1s, 2m, 3h). Zero means without limit.",
  ),
  server: stringFlag("", "The address and port of the Kubernetes API server", { shorthand: "s" }),
  "tls-server-name": stringFlag(
    "",
    "The name that the server's certificate must be for. Without it, the host name of the server's address",
  ),
  token: stringFlag("", "The bearer token for authentication to the API server"),
  user: stringFlag("", "The user of the kubeconfig to use"),
  username: stringFlag("", "The user name for basic authentication to the API server"),
  v: intFlag(0, "How much to log, as a number", { shorthand: "v" }),
  vmodule: { ...stringFlag("", "Levels of the log by file, as pattern=N between commas"), type: "moduleSpec" },
  "warnings-as-errors": boolFlag(false, "Treat warnings of the server as errors: the exit code is not zero after one"),
})

export type GlobalFlags = ReturnType<typeof globalFlags>
export type GlobalValues = FlagValues<GlobalFlags>
