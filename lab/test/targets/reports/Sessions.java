// Held back by full collections: sessions that live fill almost the whole heap, and each request makes garbage.
//
//     Sessions [SCALE]
public final class Sessions {
    public static void main(String[] words) {
        double scale = words.length > 0 ? Double.parseDouble(words[0]) : 1;
        byte[][] sessions = new byte[20_000][];
        long sum = 0;
        for (int request = 0; request < (int) (600_000 * scale); request++) {
            byte[] session = new byte[2_000];
            session[request % 2_000] = (byte) request;
            sessions[request % sessions.length] = session;
            sum += session[request % 2_000] & 1;
        }
        System.out.println(sum);
    }
}
