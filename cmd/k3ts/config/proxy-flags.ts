import { HEALTHZ_PORT, STATUS_PORT } from "../../../components/kube-proxy/health/ports.ts"
import { PROXY_MODES } from "../../../components/kube-proxy/rule-writer.ts"
import { list, value } from "../cli/flags.ts"
import { word } from "../cli/flag-type.ts"
import * as v from "../cli/values.ts"

/** The value of --nodeport-addresses for the addresses of --node-ip. */
export const PRIMARY_ADDRESSES = "primary"

/** The flags of kube-proxy, on servers and agents. */
export const proxyFlags = {
  "proxy-mode": value(word(PROXY_MODES).optional(), "How Services are served on this node", {
    placeholder: "MODE",
    choices: PROXY_MODES,
    defaultText: "nftables where the machine allows it, else iptables",
  }),
  "nodeport-addresses": list(
    v.cidrOr(PRIMARY_ADDRESSES),
    "Range of this node's addresses at which node ports are served; `primary` for those of --node-ip",
    { placeholder: "CIDR", defaultText: "all addresses" },
  ),
  "conntrack-tcp-timeout-close-wait": value(
    v.durationOrNone.prefault("1h"),
    "How long the kernel keeps TCP connections that one side has closed; 0s for as long as it does by itself",
    { placeholder: "DURATION" },
  ),
  "kube-proxy-healthz-bind-address": value(
    v.bindAddress(HEALTHZ_PORT).optional(),
    "Where kube-proxy tells whether it works, to load balancers for instance; none for nowhere",
    { placeholder: "ADDRESS:PORT", defaultText: `127.0.0.1:${HEALTHZ_PORT}` },
  ),
  "kube-proxy-metrics-bind-address": value(
    v.bindAddress(STATUS_PORT).optional(),
    "Where kube-proxy serves its metrics, to everybody who reaches the address; none for nowhere",
    { placeholder: "ADDRESS:PORT", defaultText: `127.0.0.1:${STATUS_PORT}` },
  ),
} as const
