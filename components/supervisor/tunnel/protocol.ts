/** The protocol in the Upgrade header of a request for a tunnel. tunnels.ts describes it. */
export const TUNNEL_PROTOCOL = "k3ts-tunnel"
