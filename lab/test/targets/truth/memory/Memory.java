import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

/** Threads whose deflaters take native memory, a few of which stay: MODE [SCALE [cured]]. It then idles. */
class Memory {
    public static void main(String[] words) throws Exception {
        final long begin = System.nanoTime();
        final double scale = words.length > 1 ? Double.parseDouble(words[1]) : 1;
        final boolean cured = words.length > 2;
        final List<Deflater> kept = new ArrayList<>();
        final List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < 24; number++) {
            final Thread thread = new Thread(() -> deflate(scale, cured, kept));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(threads.size());
        Thread.sleep(2 * (System.nanoTime() - begin) / 1000000 + (long) (3000 * scale));
        for (Deflater deflater : kept) deflater.end();
    }

    private static void deflate(double scale, boolean cured, List<Deflater> kept) {
        final byte[] text = new byte[100000], out = new byte[100000];
        for (int at = 0; at < text.length; at++) text[at] = (byte) (at * 7919 >> 5);
        final List<Deflater> made = new ArrayList<>();
        for (int number = 0; number < (cured ? 1 : (int) (20 * scale) + 1); number++) {
            final Deflater deflater = new Deflater();
            deflater.setInput(text);
            deflater.finish();
            deflater.deflate(out);
            made.add(deflater);
        }
        synchronized (kept) { kept.add(made.remove(made.size() - 1)); }
        for (Deflater deflater : made) deflater.end();
    }
}
